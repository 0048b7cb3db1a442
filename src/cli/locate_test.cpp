#include "cli/client/locate.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"
#include "http/client.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

FakeAnswer fine(const FakeRequest&) { return {"{}"}; }

TEST(FindServer, PrefersWhatIsNamed) {
  const FakeServer server(fine);
  const auto socket = server.directory() + "/paceline.sock";
  EXPECT_EQ(find_server(server.directory() + "/", {}), socket);
  EXPECT_EQ(find_server(socket, {{"PACELINE_DIR", "/nowhere"}}), socket);
  EXPECT_EQ(find_server({}, {{"PACELINE_DIR", server.directory()}}), socket);
  EXPECT_EQ(find_server("/nowhere", {{"PACELINE_DIR", server.directory()}}).error().code,
            ErrorCode::unavailable);
}

TEST(DefaultDirectory, IsTheMachinesForRootAndTheDataFolderForOthers) {
  constexpr uid_t kUser = 1000;
  EXPECT_EQ(default_directory({{"PACELINE_DIR", "/a"}, {"HOME", "/h"}}, 0), "/a");
  EXPECT_EQ(default_directory({{"HOME", "/h"}}, 0), "/var/lib/paceline");
  EXPECT_EQ(default_directory({{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}}, kUser), "/x/paceline");
  EXPECT_EQ(default_directory({{"HOME", "/h"}}, kUser), "/h/.local/share/paceline");
  EXPECT_EQ(default_directory({}, kUser).error().code, ErrorCode::invalid);
}

TEST(FindServer, LooksIntoTheDataFolder) {
  const TestDirectory home;
  const FakeServer server(fine);
  std::filesystem::create_directories(home.path() + "/.local/share");
  std::filesystem::create_symlink(server.directory(), home.path() + "/.local/share/paceline");
  for (const char* installed : {"/run/paceline/paceline.sock", "/var/lib/paceline"})
    if (std::filesystem::exists(installed)) GTEST_SKIP() << "a server is installed here";
  EXPECT_EQ(find_server({}, {{"HOME", home.path()}}),
            home.path() + "/.local/share/paceline/paceline.sock");
  EXPECT_EQ(find_server({}, {{"XDG_DATA_HOME", home.path() + "/.local/share"}, {"HOME", "/x"}}),
            home.path() + "/.local/share/paceline/paceline.sock");
  EXPECT_EQ(find_server({}, {{"HOME", "/nowhere"}}).error().hint, "Start one with 'paceline up'.");
}

TEST(UnixDialer, ReachesAPathOfAnyLength) {
  const TestDirectory top;
  const FakeServer server(fine);
  const auto folder = top.path() + "/" + std::string(120, 'd');
  std::filesystem::create_symlink(server.directory(), folder);
  HttpClient http({std::make_shared<UnixDialer>(folder + "/paceline.sock")});
  const auto answer = http.send({.target = "/v1/server"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
}

TEST(UnixDialer, TellsAForeignServerFromNone) {
  const TestDirectory directory;
  EXPECT_EQ(UnixDialer(directory.path() + "/none.sock").dial().error().code,
            ErrorCode::unavailable);
  EXPECT_EQ(UnixDialer(directory.write("file", "x")).dial().error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace paceline
