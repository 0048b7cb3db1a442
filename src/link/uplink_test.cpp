#include "link/uplink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "clock/manual/manual_clock.hpp"
#include "http/tls_testing.hpp"
#include "link/agent_sessions.hpp"
#include "link/testing.hpp"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using testing::FakeAgentEnd;
using testing::FakeServerEnd;
using ::testing::HasSubstr;
using testing::hello_of;
using testing::should_stop;

constexpr std::string_view kTheirVersion = "0.1.0";

// A far end that lets nothing through.
class Deaf final : public ServerStream {
 public:
  explicit Deaf(boost::asio::io_context& io)
      : forever_(io, std::chrono::steady_clock::time_point::max()) {}

  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Awaitable<std::size_t> read_some(boost::asio::mutable_buffer, Failure& failure) override {
    co_return co_await wait(failure);
  }
  Awaitable<std::size_t> write_some(Pieces, Failure& failure) override {
    co_return co_await wait(failure);
  }
  void say_at_once(std::string_view) override {}
  void finish_sending() override {}
  void close() override { forever_.cancel(); }
  [[nodiscard]] Presence presence() override { return Presence::silent; }
  void when_not_silent(std::function<void()>) override {}
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  Awaitable<std::size_t> wait(Failure& failure) {
    co_await forever_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, failure));
    co_return 0;
  }

  boost::asio::steady_timer forever_;
  Peer peer_;
};

class UplinkTest : public TlsHttpTest {
 protected:
  UplinkTest() {
    options_.server = [this](const std::function<int()>& interrupted) {
      auto way = options();
      if (port_said_) way.port = *port_said_;
      way.shown = credentials_;
      way.interrupted = interrupted;
      return ServerAddress{.dialer = std::make_shared<TlsDialer>(std::move(way)),
                           .interrupted = interrupted,
                           .version = version_};
    };
    options_.backoff = {milliseconds{1}, milliseconds{20}};
    agent_.on_connected_ = [this](Session session) {
      agent_.send_({session, 1, 0, 0, hello_of("gpu-1", boot_)});
    };
  }
  void TearDown() override {
    uplink_.reset();
    loop_.on([this] { sessions_.reset(); });
    TlsHttpTest::TearDown();
  }

  Router routes() override {
    Router router;
    router.add("GET", "/v1/link", [this](const auto& exchange) {
      ++asked_;
      if (deaf_) return exchange->tunnel("paceline-link", std::make_shared<Deaf>(loop_.io()));
      if (says_) return exchange->tunnel("paceline-link", speaker());
      const auto& name = *exchange->request().peer.certificate;
      auto far = sessions_->words({name.node, name.serial, {}},
                                  exchange->request().header("Paceline-Version"));
      if (!far) return exchange->refuse(far.error());
      exchange->tunnel("paceline-link", *far);
    });
    return router;
  }
  // Says this and no more.
  std::shared_ptr<LineStream> speaker() {
    auto far = std::make_shared<LineStream>(
        loop_.io(), kLineQueueBytesMax,
        LineStream::Owner{[] {}, [](std::string_view) {}, [](const std::string&) {}});
    if (!says_->empty()) far->send(*says_);
    return far;
  }

  void serve(PulseTimes pulse = {}) {
    start();
    credentials_ = node_of(authority_, now());
    loop_.on([&] {
      sessions_.emplace(
          loop_.io(), clock_, server_end_,
          AgentSessions::Options{.version = std::string(kTheirVersion), .pulse = pulse});
    });
  }
  void link() {
    uplink_.emplace(io_, agent_, options_);
    uplink_->start();
  }
  void connect() {
    serve();
    link();
    run_until([this] { return server_has(1); });
  }

  template <class Reached>
  void run_until(Reached reached) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!reached()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      io_.restart();
      io_.run_one_for(milliseconds{1});
    }
  }
  bool server_has(std::size_t frames) {
    return loop_.on([&] { return server_end_.received_.size(); }) >= frames;
  }
  std::size_t sessions() {
    return loop_.on([&] { return server_end_.open_.size(); });
  }
  [[nodiscard]] bool connected() const { return uplink_->status().connected.has_value(); }
  // The sentence of the first problem of this kind.
  std::string problem(ErrorCode code) {
    run_until([&] {
      const auto& problem = uplink_->status().problem;
      return problem && problem->code == code;
    });
    const auto& problem = uplink_->status().problem;
    return problem ? problem->message : std::string();
  }

  ManualClock clock_{time_from_us(1'000'000)};
  boost::asio::io_context io_{1};
  FakeServerEnd server_end_;
  FakeAgentEnd agent_;
  std::optional<AgentSessions> sessions_;
  std::atomic<int> asked_ = 0;
  std::atomic<bool> deaf_ = false;
  std::optional<std::string> says_;
  std::optional<std::uint16_t> port_said_;
  Credentials credentials_;
  std::string version_ = std::string(kTheirVersion), boot_ = "boot-1";
  Uplink::Options options_;
  std::optional<Uplink> uplink_;
};

TEST_F(UplinkTest, FramesGoBothWaysInOrder) {
  connect();
  const auto session = *agent_.session_;
  for (std::uint64_t i = 2; i <= 300; ++i)
    agent_.send_({session, i, 0, 0, NodeChanged{hello_of("gpu-1", "").node}});
  loop_.on([&] {
    for (std::uint64_t i = 1; i <= 300; ++i)
      server_end_.send_({session, i, 0, 0, should_stop(std::string(i * 20, 'x'))});
  });
  run_until([&] { return server_has(300) && agent_.received_.size() >= 300; });
  ASSERT_FALSE(HasFatalFailure());
  for (std::uint64_t i = 1; i <= 300; ++i) {
    EXPECT_EQ(server_end_.received_[i - 1].number, i);
    EXPECT_EQ(agent_.received_[i - 1].number, i);
  }
  EXPECT_EQ(std::get<ShouldStop>(*agent_.received_.back().message).reason, std::string(6'000, 'x'));
}

TEST_F(UplinkTest, WhatIsHeldArrivesLaterAndInOrder) {
  options_.hold = milliseconds{50};
  const auto began = std::chrono::steady_clock::now();
  connect();
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds{50});
  for (std::uint64_t i = 2; i <= 30; ++i)
    agent_.send_({*agent_.session_, i, 0, 0, NodeChanged{hello_of("gpu-1", "").node}});
  EXPECT_FALSE(server_has(2));
  run_until([&] { return server_has(30); });
  ASSERT_FALSE(HasFatalFailure());
  for (std::uint64_t i = 1; i <= 30; ++i) EXPECT_EQ(server_end_.received_[i - 1].number, i);
}

TEST_F(UplinkTest, AFrameOfMegabytesArrivesWhole) {
  connect();
  const auto session = *agent_.session_;
  const std::string reason(5 << 20, 'x');
  loop_.on([&] { server_end_.send_({session, 1, 0, 0, should_stop(reason)}); });
  run_until([&] { return !agent_.received_.empty(); });
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(std::get<ShouldStop>(*agent_.received_.front().message).reason, reason);
}

TEST_F(UplinkTest, TellsTheAddressByWhichTheServerIsReached) {
  std::string address;
  bool before = false;
  options_.on_connected = [&](const std::string& own) {
    address = own;
    before = !agent_.session_;
  };
  connect();
  EXPECT_EQ(address, "127.0.0.1");
  EXPECT_TRUE(before) << "so that Hello says it";
  EXPECT_EQ(uplink_->status().connected->version, kTheirVersion);
}

TEST_F(UplinkTest, DialsAnewHoweverOftenItIsCutOff) {
  connect();
  for (int times = 2; times <= 6; ++times) {
    loop_.on([&] { sessions_->cut("gpu-1"); });
    run_until([&] { return server_has(static_cast<std::size_t>(times)); });
    EXPECT_EQ(agent_.connections_, times);
    EXPECT_EQ(sessions(), 1U);
  }
}

TEST_F(UplinkTest, FramesOfAnOldSessionStayWithIt) {
  connect();
  const auto old = *agent_.session_;
  loop_.on([&] { sessions_->cut("gpu-1"); });
  run_until([&] { return server_has(2); });
  agent_.send_({old, 2, 0, 0, NodeChanged{}});
  agent_.send_({*agent_.session_, 2, 0, 0, NodeChanged{hello_of("gpu-1", "").node}});
  run_until([&] { return server_has(3); });
  EXPECT_EQ(server_end_.received_.back().session, *agent_.session_);
  EXPECT_TRUE(connected());
}

TEST_F(UplinkTest, AServerThatIsAwayIsFoundOnceItIsThere) {
  serve();
  {
    const auto nobody = value_of(listen_tcp({"127.0.0.1", 0}));
    port_said_ = tcp_address_of(nobody.get()).port;
  }
  link();
  EXPECT_THAT(problem(ErrorCode::unavailable), HasSubstr("Nobody answers at 127.0.0.1:"));
  EXPECT_FALSE(agent_.session_.has_value());
  port_said_.reset();
  run_until([this] { return server_has(1); });
  EXPECT_TRUE(connected());
  EXPECT_FALSE(uplink_->status().problem.has_value());
}

TEST_F(UplinkTest, ASilentServerIsGivenUpAndDialledAnew) {
  serve();
  says_ = encode(LinkGreeting{Session{1}, "0.1.0", milliseconds{20}});
  link();
  run_until([this] { return connected(); });
  EXPECT_EQ(problem(ErrorCode::unavailable), "The server was not heard for 0.06 s.");
  EXPECT_FALSE(agent_.session_.has_value());
  run_until([this] { return asked_ > 1; });
}

TEST_F(UplinkTest, AServerThatGreetsNobodyIsGivenUp) {
  serve();
  deaf_ = true;
  options_.pulse = {.beat = milliseconds{20}};
  link();
  EXPECT_EQ(problem(ErrorCode::unavailable), "The server was not heard for 0.06 s.");
  EXPECT_EQ(agent_.connections_, 0);
}

TEST_F(UplinkTest, BeatsKeepAQuietConnection) {
  serve({.beat = milliseconds{20}});
  link();
  run_until([this] { return server_has(1); });
  const auto until = std::chrono::steady_clock::now() + milliseconds{300};
  run_until([&] { return std::chrono::steady_clock::now() >= until; });
  EXPECT_EQ(agent_.connections_, 1);
  EXPECT_EQ(sessions(), 1U);
}

TEST_F(UplinkTest, WhatIsNoGreetingIsNoConnection) {
  serve();
  for (const char* line : {"hello", "{}", "\x01\xff"}) {
    says_ = line;
    link();
    EXPECT_NE(problem(ErrorCode::data), "") << line;
    uplink_.reset();
  }
  EXPECT_EQ(agent_.connections_, 0);
}

TEST_F(UplinkTest, WhatIsNoFrameEndsTheConnection) {
  serve();
  const auto greeting = encode(LinkGreeting{Session{1}, "0.1.0", milliseconds{5'000}});
  for (const char* line : {"hello", "{}", "[1]"}) {
    says_ = greeting + "\n" + line;
    link();
    EXPECT_NE(problem(ErrorCode::data), "") << line;
    EXPECT_FALSE(agent_.session_.has_value());
    uplink_.reset();
  }
}

TEST_F(UplinkTest, ALineWithoutAnEndIsCutAtItsBound) {
  serve();
  says_ = std::string((16 << 20) + 1, 'x');
  link();
  EXPECT_EQ(problem(ErrorCode::too_large), "A line has over 16777216 bytes.");
}

TEST_F(UplinkTest, AServerThatTakesNothingIsLeftOnceTooMuchWaits) {
  serve();
  options_.queue_bytes_max = 1 << 20;
  // It greets, and then reads no more: its own thread is kept.
  link();
  run_until([this] { return server_has(1); });
  std::promise<void> go_on;
  boost::asio::post(loop_.io(), [&] { go_on.get_future().wait(); });
  const NodeChanged changed{hello_of("gpu-1", std::string(), std::string(100'000, 'x')).node};
  run_until([&] {
    if (agent_.session_) agent_.send_({*agent_.session_, 2, 0, 0, changed});
    return !connected();
  });
  EXPECT_EQ(uplink_->status().problem->message, "The server takes too little of what it is told.");
  go_on.set_value();
  run_until([this] { return connected(); });
}

TEST_F(UplinkTest, AnotherVersionIsToldAndTriedAgain) {
  serve();
  version_ = "0.3.0";
  link();
  EXPECT_EQ(problem(ErrorCode::conflict),
            "The agent is version 0.3.0, which is too far from the server's 0.1.0.");
  EXPECT_EQ(uplink_->status().problem->hint,
            "Upgrade the server: their minor versions may differ by one.");
  version_ = "0.2.0";
  run_until([this] { return server_has(1); });
  EXPECT_GT(asked_, 1);
}

TEST_F(UplinkTest, ACopyOfAMachineLearnsThatItIsOne) {
  connect();
  boost::asio::io_context io;
  FakeAgentEnd copy;
  copy.on_connected_ = [&](Session session) {
    copy.send_({session, 1, 0, 0, hello_of("gpu-1", "boot-2", "10.0.0.8")});
  };
  std::optional<Uplink> other;
  other.emplace(io_, copy, options_);
  other->start();
  run_until([&] {
    return other->status().problem && other->status().problem->code == ErrorCode::conflict;
  });
  EXPECT_THAT(other->status().problem->message,
              HasSubstr("Two machines show the identity of node 'gpu-1'"));
  EXPECT_TRUE(connected());
  EXPECT_EQ(agent_.connections_, 1);
}

TEST_F(UplinkTest, ACertificateOfAnotherAuthorityIsToldAsSuch) {
  serve();
  const auto other = authority_in(folder_.path() / "other", now());
  credentials_ = node_of(other, now());
  link();
  EXPECT_EQ(problem(ErrorCode::forbidden),
            "The server does not accept this machine's certificate.");
  EXPECT_EQ(asked_, 0);
}

TEST_F(UplinkTest, ItsEndEndsTheConnection) {
  connect();
  uplink_.reset();
  run_until([this] { return sessions() == 0; });
}

TEST_F(UplinkTest, ItsEndInterruptsADial) {
  serve();
  const auto mute = value_of(listen_tcp({"127.0.0.1", 0}));
  port_said_ = tcp_address_of(mute.get()).port;
  link();
  const auto begun = std::chrono::steady_clock::now();
  uplink_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{5});
}

}  // namespace
}  // namespace paceline
