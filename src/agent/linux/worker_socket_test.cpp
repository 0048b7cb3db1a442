#include "agent/linux/worker_socket.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/script_server.hpp"
#include "agent/linux/status_listener.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

// ---- the routes ----

class WorkerRoutes : public ::testing::Test {
 protected:
  HttpResponse ask(const std::string& method, const std::string& path,
                   const std::string& body = "") {
    WorkerOrder order;
    order.key = key(7, 2, 1);
    order.job_name = "digits";
    order.attempt = 3;
    order.world_size = 4;
    const WorkerVoice voice{[this](const Report& report) { reports_.push_back(report); },
                            [this] { return noticed_; }, [this] { return reason_; },
                            [this] { return membership_; }};
    return answer_worker({.method = method, .path = path, .body = body}, order, voice);
  }

  std::vector<Report> reports_;
  bool noticed_ = false;
  std::string reason_;
  Membership membership_{Generation{2}, 1, 4};
};

TEST_F(WorkerRoutes, TakeMetrics) {
  EXPECT_EQ(ask("POST", "/v1/metrics", R"({"step": 2, "accuracy": 0.9})").body, "{}");
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].step, 2U);
  const HttpResponse bad = ask("POST", "/v1/metrics", R"({"accuracy": "high"})");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(Json::parse(bad.body)["error"]["code"], "invalid");
  EXPECT_EQ(reports_.size(), 1U);
}

TEST_F(WorkerRoutes, TakeModels) {
  EXPECT_EQ(ask("POST", "/v1/publish", R"({"path": "/m.pt", "bytes": 12})").status, 200);
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].model, "/m.pt");
  EXPECT_EQ(reports_[0].bytes, 12U);
  EXPECT_EQ(ask("POST", "/v1/publish", R"({"path": "m.pt"})").status, 400);
  EXPECT_EQ(reports_.size(), 1U);
}

TEST_F(WorkerRoutes, TakeCheckpoints) {
  EXPECT_EQ(ask("POST", "/v1/checkpoint", R"({"path": "/a.pt", "step": 100})").status, 200);
  EXPECT_EQ(reports_[0].checkpoint, "/a.pt");
  EXPECT_EQ(ask("POST", "/v1/checkpoint", R"({"path": "a.pt"})").status, 400);
}

TEST_F(WorkerRoutes, TellWhetherToStop) {
  EXPECT_EQ(Json::parse(ask("GET", "/v1/should_stop").body),
            Json::parse(R"({"should_stop": false, "reason": null})"));
  reason_ = "target_reached";
  EXPECT_EQ(Json::parse(ask("GET", "/v1/should_stop").body),
            Json::parse(R"({"should_stop": true, "reason": "target_reached"})"));
}

TEST_F(WorkerRoutes, TellWhoAsks) {
  EXPECT_EQ(Json::parse(ask("GET", "/v1/me").body), Json::parse(R"({"job": 7, "name": "digits",
      "generation": 2, "attempt": 3, "rank": 1, "world_size": 4, "checkpoint": null, "notice": false})"));
}

TEST_F(WorkerRoutes, TellWhereAProcessThatGoesOnStandsNow) {
  membership_ = {Generation{3}, 0, 2};
  EXPECT_EQ(Json::parse(ask("GET", "/v1/me").body), Json::parse(R"({"job": 7, "name": "digits",
      "generation": 3, "attempt": 3, "rank": 0, "world_size": 2, "checkpoint": null, "notice": false})"));
}

TEST_F(WorkerRoutes, RefuseTheRest) {
  EXPECT_EQ(ask("GET", "/v1/metrics").status, 404);
  EXPECT_EQ(ask("POST", "/").status, 404);
}

// ---- through real sockets ----

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

// The limit of open files, so that as many more as `more` can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit few{static_cast<rlim_t>(next.get() + more), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// Up to its end.
std::string rest_of(const UniqueFd& fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

class Listening : public ::testing::Test {
 protected:
  TempDirectory directory_;
  boost::asio::io_context io_;
  std::unique_ptr<HttpServer> server_ =
      std::move(*serve_scripts(io_, std::move(*listen_at(directory_ / "s", ::geteuid())),
                               [](const HttpRequest&) { return HttpResponse{.body = "{}"}; }));
};

TEST_F(Listening, WaitsWhereNoDescriptorIsLeft) {
  const UniqueFd client = connect_to(directory_ / "s");
  ASSERT_TRUE(client);
  const FewDescriptors none(0);
  EXPECT_LT(io_.run_for(std::chrono::milliseconds{300}), 30U) << "it spins";
}

TEST_F(Listening, LeavesTheLastDescriptorsToStarts) {
  const UniqueFd client = connect_to(directory_ / "s");
  ASSERT_TRUE(client);
  const FewDescriptors few(10);
  io_.run_for(std::chrono::milliseconds{10});
  EXPECT_THAT(rest_of(client), StartsWith("HTTP/1.1 503")) << "it is turned away";
}

std::string round_trip(const UniqueFd& fd, const std::string& request) {
  EXPECT_TRUE(write_all(fd.get(), request));
  return rest_of(fd);
}

std::string post(const std::string& path, const std::string& body, const std::string& more = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: paceline\r\nConnection: close\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Talks from a process of its own while the host turns.
class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.start(shell_worker(key(7), "exec sleep 1000"));
    host_.running(key(7));
  }
  std::string talk(UniqueFd fd, const std::string& request) {
    const std::string file = directory_ / ("answer" + std::to_string(++talks_));
    const pid_t pid = ::fork();
    if (pid == 0) {
      static_cast<void>(replace_file(AT_FDCWD, file.c_str(), round_trip(fd, request) + "."));
      ::_exit(0);
    }
    fd.reset();
    EXPECT_TRUE(host_.until([&] { return !contents(file).empty(); }));
    ::waitpid(pid, nullptr, 0);
    return contents(file);
  }
  [[nodiscard]] std::string socket() const { return directory_ / "run/7.1.0.sock"; }

  TempDirectory directory_;
  TestHost host_{directory_.path()};
  int talks_ = 0;
};

TEST_F(SocketTest, AReportIsObserved) {
  EXPECT_THAT(talk(connect_to(socket()), post("/v1/metrics", R"({"step": 5, "loss": 1.5})")),
              StartsWith("HTTP/1.1 200 OK"));
  ASSERT_EQ(host_.seen<WorkerReport>().size(), 1U);
  EXPECT_EQ(host_.seen<WorkerReport>()[0].metrics.at("loss"), 1.5);
  talk(connect_to(socket()), post("/v1/checkpoint", R"({"path": "/a.pt"})"));
  ASSERT_EQ(host_.seen<CheckpointSeen>().size(), 1U);
  EXPECT_GT(host_.seen<CheckpointSeen>()[0].report, host_.seen<WorkerReport>()[0].report);
}

TEST_F(SocketTest, ShouldStopIsAnswered) {
  const std::string get = "GET /v1/should_stop HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_THAT(talk(connect_to(socket()), get), HasSubstr(R"("should_stop":false)"));
  host_->perform(SetShouldStop{key(7), "target_reached"});
  EXPECT_THAT(talk(connect_to(socket()), get), HasSubstr(R"("reason":"target_reached")"));
}

TEST_F(SocketTest, BodiesAreBoundedAndNonsenseIsRefused) {
  EXPECT_THAT(talk(connect_to(socket()), post("/v1/metrics", std::string(70'000, ' '))),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(talk(connect_to(socket()), "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(connect_to(socket()), post("/v1/metrics", "{}")), StartsWith("HTTP/1.1 200"));
}

TEST_F(SocketTest, HeadersAreBounded) {
  const auto with = [](std::size_t bytes) {
    return post("/v1/metrics", "{}", "X-Padding: " + std::string(bytes, 'x') + "\r\n");
  };
  EXPECT_THAT(talk(connect_to(socket()), with(7U << 10)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(talk(connect_to(socket()), with(8U << 10)), StartsWith("HTTP/1.1 413"));
}

TEST_F(SocketTest, IsTheOwnersAloneAndComesBackAfterARestart) {
  struct stat info {};
  ASSERT_EQ(::stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(info.st_uid, ::geteuid());
  host_.crash();
  TestHost second(directory_.path());
  second->claims();
  const UniqueFd fd = connect_to(socket());
  EXPECT_TRUE(write_all(fd.get(), post("/v1/metrics", R"({"step": 6})")));
  EXPECT_TRUE(second.until([&] { return second.seen<WorkerReport>().size() == 1; }));
}

// ---- the trainer status ----

class StatusTest : public SocketTest {
 protected:
  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(
        std::atoi(contents(directory_ / "agent/status_port").c_str()));
  }
  [[nodiscard]] std::string token(const ProcessKey& key) const {
    return contents(directory_ / ("run/" + claim_name(key) + ".token"));
  }
  [[nodiscard]] UniqueFd connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = loopback(port());
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static std::string status_post(const ProcessKey& key, const std::string& token) {
    const std::string body = R"({"trainerStatus": {"progressPercentage": 50, "metrics": [
        {"name": "loss", "value": "0.5"}, {"name": "total_steps", "value": "40"}]}})";
    const std::string header = token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
    return post("/v1/workers/" + claim_name(key) + "/status", body, header);
  }
  std::string say(const ProcessKey& key, const std::string& token) {
    return talk(connect(), status_post(key, token));
  }
};

// What bind() says to another user about the port, by every means that shares one; 0: it is his.
int bind_as_another(const sockaddr_in& address) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(255);
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::_exit(bound == 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(StatusTest, IsTakenWithTheWorkersTokenOnly) {
  EXPECT_EQ(token(key(7)).size(), 32U);
  EXPECT_THAT(say(key(7), ""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(say(key(7), std::string(32, '0')), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(say(key(7), token(key(7))), StartsWith("HTTP/1.1 200"));
  ASSERT_EQ(host_.seen<WorkerReport>().size(), 1U);
  EXPECT_EQ(host_.seen<WorkerReport>()[0].step, 20U);
  EXPECT_EQ(host_.seen<WorkerReport>()[0].total_steps, 40U);
}

TEST_F(StatusTest, TokenFileIsTheOwnersAlone) {
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "run/7.1.0.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(StatusTest, OfOneWorkerIsNotTakenWithAnothersToken) {
  host_.start(shell_worker(key(8), "exec sleep 1000"));
  host_.running(key(8));
  ASSERT_NE(token(key(7)), token(key(8)));
  EXPECT_THAT(say(key(7), token(key(8))), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(say(key(8), token(key(8))), StartsWith("HTTP/1.1 200"));
}

TEST_F(StatusTest, OfAWorkerThatEndedIsNotTaken) {
  const std::string caught = token(key(7));
  host_->perform(Kill{key(7)});
  host_.gone(key(7));
  EXPECT_THAT(say(key(7), caught), StartsWith("HTTP/1.1 403"));
  host_->perform(Discard{key(7)});
  host_.start(shell_worker(key(7, 2), "exec sleep 1000"));
  host_.running(key(7, 2));
  EXPECT_THAT(say(key(7, 2), caught), StartsWith("HTTP/1.1 403"));
  EXPECT_TRUE(eventually([&] { return token(key(7)).empty(); }));
}

TEST_F(StatusTest, PortIsNobodyElsesWhileTheServerIsAway) {
  const std::uint16_t before = port();
  const std::string known = token(key(7));
  EXPECT_THAT(say(key(7), known), StartsWith("HTTP/1.1 200"));
  host_.crash();
  const sockaddr_in everywhere = [&] {
    sockaddr_in address = loopback(before);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    return address;
  }();
  if (::geteuid() == 0) {
    EXPECT_EQ(bind_as_another(loopback(before)), EADDRINUSE);
    EXPECT_EQ(bind_as_another(everywhere), EADDRINUSE);
  }
  TestHost second(directory_.path());
  second->claims();
  EXPECT_EQ(port(), before);
  const UniqueFd fd = connect();
  EXPECT_TRUE(write_all(fd.get(), status_post(key(7), known)));
  EXPECT_TRUE(second.until([&] { return second.seen<WorkerReport>().size() == 1; }));
}

TEST_F(StatusTest, PortThatAnotherServerTookSinceIsLeftToIt) {
  const std::uint16_t before = port();
  host_->perform(Kill{key(7)});
  host_.gone(key(7));
  host_.crash();
  TempDirectory elsewhere;
  TestHost other(elsewhere.path());
  TestHost second(directory_.path());
  EXPECT_NE(contents(directory_ / "agent/status_port"), contents(elsewhere / "agent/status_port"))
      << "it was " << before;
}

// Whoever listens where the worker was told to post has its token.
TEST_F(StatusTest, OfAWorkerThatPostsToAnotherPortIsNotTaken) {
  const std::string caught = token(key(7));
  const std::string path = directory_ / "agent/status_port";
  host_.crash();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  TestHost second(directory_.path());
  second->claims();
  const UniqueFd fd = connect();
  EXPECT_TRUE(write_all(fd.get(), status_post(key(7), caught)));
  std::string answer(64, '\0');
  EXPECT_TRUE(second.until(
      [&] { return ::recv(fd.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0; }));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_TRUE(second.seen<WorkerReport>().empty());
}

TEST_F(StatusTest, IsTakenWhileOthersHoldIdleConnections) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(connect());
    if (i % 3 == 1) write_all(idle.back().get(), "POST /v1/workers/7.1.0/status HTTP/1.1\r\n");
    if (i % 3 == 2)
      write_all(idle.back().get(), "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
    host_.turn();
  }
  for (int i = 0; i < 3; ++i) EXPECT_THAT(say(key(7), token(key(7))), StartsWith("HTTP/1.1 200"));
}

TEST(SocketDirectory, IsShortEvenBelowALongPath) {
  TempDirectory directory;
  const std::string deep = directory / std::string(90, 'd');
  const auto path = make_socket_directory(deep);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_THAT(*path, StartsWith("/tmp/paceline-"));
  EXPECT_LT(path->size(), 60U);
  ::rmdir(path->c_str());
}

}  // namespace
}  // namespace paceline::agent
