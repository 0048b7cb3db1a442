// A node's threads against a server behind a real socket.
#include "link/bytes_uplink.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/testing.hpp"
#include "link/bytes_door.hpp"
#include "link/bytes_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const ProcessKey kWorker{JobId{7}, Generation{1}, 0};

ServerStream::Awaitable<std::string> read_all(std::shared_ptr<ServerStream> stream) {
  std::string all, some(1024, '\0');
  ServerStream::Failure failure;
  while (!failure) {
    const auto count = co_await stream->read_some(boost::asio::buffer(some), failure);
    all.append(some, 0, count);
  }
  co_return all;
}

class BytesUplinkTest : public ::testing::Test {
 protected:
  void start() {
    loop_.on([&] {
      door_.emplace(loop_.io(), BytesDoor::Options{
                                    .intake = {.directory = server_logs_.directory()},
                                    .right =
                                        [this](std::string_view, const LogName&) {
                                          const auto uid = static_cast<std::uint32_t>(::getuid());
                                          return LogRight{state_, uid, over_};
                                        },
                                    .wall = [] { return wall_from_us(1'700'000'000'000'000); }});
      Router router;
      router.add("GET", "/v1/bytes", [this](const auto& exchange) {
        ++dialled_;
        exchange->tunnel("paceline-bytes", door_->open({.id = node_.load()}));
      });
      server_.emplace(loop_.io(), listen_at_path(loop_.io(), socket(), SocketAccess::owner),
                      std::move(router), ServerOptions{});
      ASSERT_TRUE(server_->start().has_value());
    });
  }
  void stop() {
    loop_.on([&] {
      server_.reset();
      door_.reset();
    });
  }
  void TearDown() override { stop(); }

  [[nodiscard]] std::filesystem::path socket() const { return folder_.path() / "s.sock"; }
  [[nodiscard]] BytesUplink::Options options() {
    BytesUplink::Options options;
    options.dial = [path = socket().string()](const std::function<int()>& interrupted) {
      return open_upgrade({std::make_shared<UnixDialer>(path), interrupted}, "/v1/bytes",
                          "paceline-bytes");
    };
    options.logs.directory = node_logs_.directory();
    options.logs.machine = "a1";
    options.logs.keep = 0s;
    options.logs.remove = [this](JobId) { removed_ = true; };
    options.door = [this](const ProcessKey& worker, WorkerDoor) {
      EXPECT_EQ(worker, kWorker);
      return connect_unix(folder_.path() / "terminal.sock", Connecting::non_blocking);
    };
    options.wall = [] { return wall_from_us(1'700'000'000'000'000); };
    options.look = 5ms;
    options.backoff = {1ms, 20ms};
    return options;
  }
  template <class Condition>
  [[nodiscard]] bool eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < until) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }
  [[nodiscard]] bool comes(const std::string& text) {
    return eventually([&] { return server_logs_.text_of(kLog) == text; });
  }
  Result<std::shared_ptr<ServerStream>> attach() {
    std::promise<Result<std::shared_ptr<ServerStream>>> told;
    loop_.on([&] {
      door_->attach("gpu-3", kWorker, WorkerDoor::terminal,
                    [&](auto terminal) { told.set_value(std::move(terminal)); });
    });
    return told.get_future().get();
  }
  // On the loop's thread, like all that is done to it.
  void let_go(Result<std::shared_ptr<ServerStream>>& terminal) {
    loop_.on([&] { terminal->reset(); });
  }

  TempFolder folder_;
  TestLogs server_logs_, node_logs_;
  LoopThread loop_;
  std::atomic<LogState> state_ = LogState::taken;
  std::atomic<bool> over_ = false, removed_ = false;
  std::atomic<int> dialled_ = 0;
  std::atomic<const char*> node_ = "gpu-3";  // the dialer
  std::optional<BytesDoor> door_;
  std::optional<HttpServer> server_;
};

TEST_F(BytesUplinkTest, SendsLogsAsTheyGrowAndOverRestartsOfTheServer) {
  const BytesUplink uplink(options());
  node_logs_.append(kLog, "one\n");
  start();
  EXPECT_TRUE(comes("one\n"));
  node_logs_.append(kLog, "two\n");
  EXPECT_TRUE(comes("one\ntwo\n"));
  stop();
  node_logs_.append(kLog, "three\n");
  start();
  EXPECT_TRUE(comes("one\ntwo\nthree\n"));
  EXPECT_FALSE(removed_);
  over_ = true;
  stop();
  start();
  EXPECT_TRUE(eventually([&] { return removed_.load(); }));
}

TEST_F(BytesUplinkTest, SendsTimelines) {
  const LogName timeline{kLog.job, timeline_of(3)};
  node_logs_.append(timeline, "{}\n");
  node_logs_.append(kLog, "one\n");
  start();
  const BytesUplink uplink(options());
  EXPECT_TRUE(comes("one\n"));
  EXPECT_TRUE(eventually([&] { return server_logs_.text_of(timeline) == "{}\n"; }));
}

TEST_F(BytesUplinkTest, SendsALargeLogWhole) {
  const auto text = numbered_lines(0, 2'000'000);
  node_logs_.append(kLog, text);
  start();
  const BytesUplink uplink(options());
  EXPECT_TRUE(eventually([&] {
    return std::filesystem::exists(server_logs_.path_of(kLog)) &&
           std::filesystem::file_size(server_logs_.path_of(kLog)) >= text.size();
  }));
  EXPECT_TRUE(server_logs_.text_of(kLog) == text);
}

TEST_F(BytesUplinkTest, BringsATerminal) {
  start();
  Terminal worker(folder_.path() / "terminal.sock");
  const BytesUplink uplink(options());
  ASSERT_TRUE(eventually([&] { return loop_.on([&] { return door_->is_open("gpu-3"); }); }));
  auto terminal = attach();
  ASSERT_TRUE(terminal.has_value()) << terminal.error().message;
  worker.accept();
  loop_.on([&] { (*terminal)->say_at_once("ls\n"); });
  EXPECT_EQ(worker.read(), "ls\n");
  worker.write("$ bye");
  worker.hang_up();
  auto shown = boost::asio::co_spawn(loop_.io(), read_all(*terminal), boost::asio::use_future);
  EXPECT_EQ(shown.get(), "$ bye");
  let_go(terminal);
}

TEST_F(BytesUplinkTest, SaysThatNobodyListens) {
  start();
  const BytesUplink uplink(options());
  ASSERT_TRUE(eventually([&] { return loop_.on([&] { return door_->is_open("gpu-3"); }); }));
  EXPECT_THAT(attach().error().message, HasSubstr("nobody listens there"));
}

TEST_F(BytesUplinkTest, EndsWhateverItWaitsFor) {
  { const BytesUplink nobody_answers(options()); }
  start();
  {
    node_ = "gpu-4";
    auto silent = options();
    silent.look = 10min;
    silent.beat = 10min;
    const BytesUplink waits(std::move(silent));
    ASSERT_TRUE(eventually([&] { return dialled_ > 0; }));
  }
  node_ = "gpu-3";
  Terminal worker(folder_.path() / "terminal.sock");
  const BytesUplink shows(options());
  ASSERT_TRUE(eventually([&] { return loop_.on([&] { return door_->is_open("gpu-3"); }); }));
  auto terminal = attach();
  ASSERT_TRUE(terminal.has_value()) << terminal.error().message;
  let_go(terminal);
}

}  // namespace
}  // namespace paceline
