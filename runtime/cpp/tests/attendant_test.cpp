// What happens beside a training: a signal, and what the worker socket says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "gang.hpp"

namespace paceline::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A worker socket.
class Paceline {
 public:
  using Answer = std::function<std::string(const std::string& request)>;  // of JSON

  explicit Paceline(const std::string& body)
      : Paceline([body](const std::string& /*request*/) { return body; }) {}
  explicit Paceline(Answer answer)
      : path_(std::filesystem::temp_directory_path() / ("paceline-" + std::to_string(::getpid()))),
        answer_(std::move(answer)),
        listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    std::filesystem::remove(path_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 5) != 0)
      std::abort();
    ::setenv("PACELINE_SOCKET", path_.c_str(), 1);
    thread_ = std::thread([this] { serve(); });
  }
  Paceline(const Paceline&) = delete;
  ~Paceline() {
    heard();
    ::close(listener_);
    ::unsetenv("PACELINE_SOCKET");
    std::filesystem::remove(path_);
  }

  // What it was asked and told; it hears no more.
  const std::vector<std::string>& heard() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    return heard_;
  }

 private:
  void serve() {
    for (int fd = 0; (fd = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(fd)) {
      std::string request(4096, '\0');
      const auto count = ::recv(fd, request.data(), request.size(), 0);
      request.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      const auto body = answer_(request);
      const auto answer =
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      heard_.push_back(std::move(request));
    }
  }

  std::filesystem::path path_;
  Answer answer_;
  int listener_;
  std::vector<std::string> heard_;
  std::thread thread_;
};

void wait_until(const std::function<bool()>& happened) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!happened() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(happened());
}

// How a process that runs `body` and then waits ends on SIGTERM: wait()'s status.
int ended_by_sigterm(const std::function<void()>& body) {
  int ready[2];
  if (::pipe(ready) != 0) std::abort();
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    if (::write(ready[1], "\n", 1) < 0) ::_exit(1);
    for (int i = 0; i < 200; ++i) std::this_thread::sleep_for(50ms);
    ::_exit(0);
  }
  ::close(ready[1]);
  Process::read_line(ready[0]);
  ::close(ready[0]);
  ::kill(pid, SIGTERM);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST(Attendant, EndsTheProcessBeforeThereIsAnythingToSave) {
  const int status = ended_by_sigterm([] { new Attendant; });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
}

TEST(Attendant, NotesTheSignalOnceTheTrainingBegan) {
  Attendant attendant;
  attendant.begin(false);
  EXPECT_EQ(attendant.notice(), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(attendant.notice(), SIGTERM);
}

TEST(Attendant, LeavesForksAndWhatFollowsAlone) {
  const int fork = ended_by_sigterm([] {
    auto* const attendant = new Attendant;
    attendant->begin(false);
    const pid_t child = ::fork();
    if (child == 0) std::this_thread::sleep_for(60s);
    ::kill(child, SIGTERM);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) ::_exit(1);
    delete attendant;
  });
  ASSERT_TRUE(WIFSIGNALED(fork)) << fork;
  EXPECT_EQ(WTERMSIG(fork), SIGTERM);
}

TEST(Attendant, IsOneAtATime) {
  {
    Attendant attendant;
    EXPECT_THROW(Attendant(), GroupError);
  }
  Attendant another;
  EXPECT_EQ(another.notice(), 0);
}

TEST(Attendant, HearsThatTheModelIsGoodEnough) {
  Paceline paceline(R"({"should_stop": true, "reason": "target_reached"})");
  Attendant attendant;
  attendant.begin(true);
  wait_until([&] { return attendant.should_stop(); });
  EXPECT_EQ(attendant.notice(), 0);
  EXPECT_THAT(paceline.heard(), Each(StartsWith("GET /v1/should_stop HTTP/1.1\r\n")));
}

Gang met(int size, const std::string& name) {
  Group::Options options;
  options.generation = 7;
  Gang gang(size, options);
  for (const auto& each : gang.run([&](Group& group) { group.meet(name); }))
    EXPECT_TRUE(each.well()) << each.message();
  return gang;
}

TEST(WorkerSocket, HearsOnceThatAllRanksHaveMet) {
  Paceline paceline("{}");
  met(3, "paceline-met-" + std::to_string(::getpid()));
  ASSERT_EQ(paceline.heard().size(), 1);
  EXPECT_THAT(paceline.heard()[0], StartsWith("POST /v1/gang HTTP/1.1\r\n"));
  EXPECT_THAT(paceline.heard()[0], EndsWith("Content-Length: 9\r\n\r\n{\"met\":7}"));
}

TEST(WorkerSocket, HearsNothingOfWhoIsAlone) {
  Paceline paceline("{}");
  met(1, "any");
  EXPECT_THAT(paceline.heard(), IsEmpty());
}

TEST(WorkerSocket, IsNotNeededByAMeeting) {
  ::setenv("PACELINE_SOCKET", "/nowhere/at/all", 1);
  Gang gang = met(2, "paceline-unheard-" + std::to_string(::getpid()));
  for (const auto& each : gang.run([](Group& group) { group.barrier(); }))
    EXPECT_TRUE(each.well()) << each.message();
  ::unsetenv("PACELINE_SOCKET");
}

TEST(Attendant, HearsOfANotice) {
  const Paceline paceline(R"({"should_stop": true, "reason": "notice"})");
  Attendant attendant;
  attendant.begin(true);
  wait_until([&] { return attendant.notice() == SIGTERM; });
  EXPECT_FALSE(attendant.should_stop());
}

TEST(Attendant, GoesOnWhereNobodyAnswers) {
  ::setenv("PACELINE_SOCKET", "/nowhere/at/all", 1);
  Attendant attendant;
  attendant.begin(true);
  EXPECT_FALSE(attendant.should_stop());
  ::unsetenv("PACELINE_SOCKET");
}

std::string news(int version, const std::string& next) {
  return R"({"version": )" + std::to_string(version) + R"(, "next": )" + next + "}";
}

// Of a gang of this host's.
std::string place_in(int generation, int rank, int size) {
  return R"({"generation": )" + std::to_string(generation) + R"(, "environment": {"RANK": ")" +
         std::to_string(rank) + R"(", "WORLD_SIZE": ")" + std::to_string(size) +
         R"(", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1",
             "PACELINE_GANG_SECRET": ")" +
         kSecret + R"(", "TORCHELASTIC_RUN_ID": "next-)" + std::to_string(::getpid()) +
         R"(", "PACELINE_GENERATION": ")" + std::to_string(generation) + "\"}}";
}
// Where the fourth generation meets.
std::string venue() {
  const auto known = "next-" + std::to_string(::getpid()) + "-127.0.0.1-1-4";
  std::array<unsigned char, 32> digest;
  HMAC(EVP_sha256(), kSecret.data(), static_cast<int>(kSecret.size()),
       reinterpret_cast<const unsigned char*>(known.data()), known.size(), digest.data(), nullptr);
  std::string name = "paceline-";
  for (const unsigned byte : digest)
    for (const int shift : {4, 0}) name += "0123456789abcdef"[(byte >> shift) & 15U];
  return name;
}

bool somebody_listens_at(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool listens = ::connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0;
  ::close(fd);
  return listens;
}

TEST(Generations, AreNotHeardOfUnasked) {
  const Paceline paceline(news(1, place_in(4, 0, 1)));
  Attendant attendant;
  Place place{};
  EXPECT_FALSE(attendant.hears());
  EXPECT_EQ(attendant.next(1).what, PACELINE_UNHEARD);
  EXPECT_THROW(static_cast<void>(attendant.join(1s, place)), GroupError);
}

TEST(Generations, AreHeardOfWithThisWorkersPlace) {
  const Paceline paceline(news(1, place_in(4, 0, 1)));
  Attendant attendant;
  attendant.hear();
  EXPECT_TRUE(attendant.hears());
  const auto next = attendant.next(3, 30s);
  EXPECT_EQ(next.what, PACELINE_GOES_ON);
  EXPECT_EQ(next.generation, 4);
  EXPECT_EQ(attendant.next(5).what, PACELINE_UNHEARD);
  Place place{};
  const auto group = attendant.join(30s, place);
  EXPECT_EQ(place.generation, 4);
  EXPECT_EQ(group.size(), 1);
}

TEST(Generations, AreJoinedWithTheOthers) {
  const Paceline paceline(news(1, place_in(4, 1, 2)));
  Attendant attendant;
  attendant.hear();
  ASSERT_EQ(attendant.next(4, 30s).what, PACELINE_GOES_ON);
  Group::Options options;
  options.size = 2;
  options.generation = 4;
  options.secret = kSecret;
  Group other(options);
  std::thread others([&other] {
    other.meet(venue());
    other.barrier();
  });
  Place place{};
  auto group = attendant.join(30s, place);
  EXPECT_EQ(place.rank, 1);
  group.barrier();
  others.join();
}

TEST(Generations, AreLeft) {
  const Paceline paceline(news(1, R"({"generation": 4, "environment": null})"));
  Attendant attendant;
  attendant.hear();
  EXPECT_EQ(attendant.next(4, 30s).what, PACELINE_LEAVES);
  EXPECT_EQ(attendant.next(5).what, PACELINE_LEAVES);  // it is told of no later one
  try {
    Place place{};
    static_cast<void>(attendant.join(30s, place));
    FAIL();
  } catch (const GroupError& error) {
    EXPECT_EQ(error.cause(), PACELINE_LEFT);
  }
}

TEST(Generations, ThatDontComeAboutAreNotWaitedFor) {
  std::atomic<bool> goes_on_without = false;
  const Paceline paceline([&](const std::string& /*request*/) {
    return goes_on_without ? news(2, place_in(5, 0, 1)) : news(1, place_in(4, 0, 2));
  });
  Attendant attendant;
  attendant.hear();
  ASSERT_EQ(attendant.next(4, 30s).what, PACELINE_GOES_ON);
  std::thread agent([&] {
    wait_until([] { return somebody_listens_at(venue()); });
    goes_on_without = true;
  });
  Place place{};
  try {
    static_cast<void>(attendant.join(60s, place));
    ADD_FAILURE();
  } catch (const GroupError& error) {
    EXPECT_EQ(error.cause(), PACELINE_LEFT) << error.what();
  }
  agent.join();
  const auto group = attendant.join(30s, place);
  EXPECT_EQ(place.generation, 5);
}

TEST(Generations, AreSaidAgainToAnAgentThatDoesNotKnow) {
  std::atomic<int> ready = 0, stands = 0;
  const Paceline paceline([&](const std::string& request) {
    if (request.ends_with(R"({"ready":4})")) ++ready;
    if (request.ends_with(R"({"stands":4})")) ++stands;
    return R"({"version": 1, "next": null, "ready": 4, "stands": 0})";
  });
  Attendant attendant;
  attendant.hear();
  attendant.say_ready(4);
  attendant.say_stands(4);
  wait_until([&] { return stands > 2; });
  EXPECT_EQ(ready, 1);
}

TEST(Generations, AreNotNeededByATraining) {
  ::setenv("PACELINE_SOCKET", "/nowhere/at/all", 1);
  Attendant attendant;
  attendant.hear();
  attendant.say_stands(1);
  EXPECT_EQ(attendant.next(1).what, PACELINE_UNHEARD);
  ::unsetenv("PACELINE_SOCKET");
}

}  // namespace
}  // namespace paceline::testing
