#include "messages/curl.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "messages/sender.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CurlConfig, AWebHookIsAskedOnceAndFollowsNothing) {
  const auto text = curl_config("https://hooks.lab.example/x", "id-1", {});
  EXPECT_THAT(text, HasSubstr("url = \"https://hooks.lab.example/x\"\n"));
  EXPECT_THAT(text, HasSubstr("header = \"Idempotency-Key: id-1\"\n"));
  EXPECT_THAT(text, HasSubstr("proto = \"=https,http\"\n"));
  EXPECT_THAT(text, HasSubstr("max-time = "));
  EXPECT_THAT(text, Not(HasSubstr("location")));
}

TEST(CurlConfig, ARelayGetsItsLoginAndMustEncrypt) {
  const Wires wires{
      MailRelay{"smtp://relay:587", "p@lab", true, "us\"er:pass\\word\nurl=x"}, {}, {}};
  const auto text = curl_config("mailto:ada@lab", "id-1", wires);
  EXPECT_THAT(text, HasSubstr("mail-rcpt = \"<ada@lab>\"\n"));
  EXPECT_THAT(text, HasSubstr("ssl-reqd\n"));
  EXPECT_THAT(text, HasSubstr("user = \"us\\\"er:pass\\\\wordurl=x\"\n"));
  const Wires open{MailRelay{"smtp://relay", "p@lab", false, {}}, {}, {}};
  EXPECT_THAT(curl_config("mailto:ada@lab", "id-1", open), Not(HasSubstr("ssl-reqd")));
}

TEST(CurlAnswer, IsTakenByWhatTheSinkSaid) {
  EXPECT_TRUE(answer_of(false, 0, 204).taken);
  EXPECT_TRUE(answer_of(false, 28, 200).taken) << "it answered, and went on for ever";
  EXPECT_FALSE(answer_of(false, 0, 302).taken);
  EXPECT_EQ(answer_of(false, 0, 500).problem, "the answer was 500");
  EXPECT_FALSE(answer_of(false, 0, 500).useless);
  EXPECT_TRUE(answer_of(false, 0, 410).useless);
  EXPECT_EQ(answer_of(false, 28, 0).problem, "there was no answer in time");
  EXPECT_TRUE(answer_of(true, 0, 250).taken);
  EXPECT_FALSE(answer_of(true, 55, 250).taken);
  EXPECT_TRUE(answer_of(true, 55, 550).useless);
  EXPECT_FALSE(answer_of(true, 67, 535).useless) << "the operator mends the login";
}

TEST(CurlPause, DoublesUpToAnHour) {
  using std::chrono::hours;
  using std::chrono::seconds;
  EXPECT_EQ(pause_before(1, seconds{30}), seconds{30});
  EXPECT_EQ(pause_before(2, seconds{30}), seconds{60});
  EXPECT_EQ(pause_before(100, seconds{30}), hours{1});
}

// What the child has: its two inputs and nothing of the server's.
TEST(CurlRun, TheChildHasNothingOfTheServers) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("curl-{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto program = folder / "curl";
  std::ofstream(program) << "#!/bin/sh\nexec 9>" << (folder / "seen").string()
                         << "\nls /proc/self/fd >&9\nenv | grep SECRET >&9\ncat >&9\ncat <&3 >&9\n"
                            "echo \"$@\" >&9\nprintf 204\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  ::setenv("SECRET_OF_SERVER", "s3cret", 1);
  const int leaked = ::fcntl(STDIN_FILENO, F_DUPFD, 20);
  {
    auto run = CurlRun::start(program.string(), "the-config\n", "the-payload\n", {});
    ASSERT_TRUE(run);
    pollfd over{run->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&over, 1, 30'000), 1);
    EXPECT_TRUE(run->finish(false).taken);
  }
  ::close(leaked);
  std::ifstream file(folder / "seen");
  const std::string seen{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(seen, HasSubstr("the-config"));
  EXPECT_THAT(seen, HasSubstr("the-payload"));
  EXPECT_THAT(seen, HasSubstr("--disable --config -"));
  EXPECT_THAT(seen, Not(HasSubstr("s3cret")));
  EXPECT_THAT(seen.substr(0, seen.find("the-config")),
              Not(HasSubstr(fmt::format("\n{}\n", leaked))));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace paceline
