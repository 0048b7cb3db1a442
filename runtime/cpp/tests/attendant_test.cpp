// What happens beside a training: a signal, and what the worker socket says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

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

// A worker socket that answers all questions alike.
class Paceline {
 public:
  explicit Paceline(const std::string& body)
      : path_(std::filesystem::temp_directory_path() / ("paceline-" + std::to_string(::getpid()))),
        answer_("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body),
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
      ::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      heard_.push_back(std::move(request));
    }
  }

  std::filesystem::path path_;
  std::string answer_;
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

}  // namespace
}  // namespace paceline::testing
