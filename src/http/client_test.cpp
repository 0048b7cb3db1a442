// A client and a server of this folder, over a real socket.
#include "http/client.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <optional>

#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/testing.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;

class HttpClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Router router;
    router.add("POST", "/echo", [](const auto& exchange) {
      const auto& request = exchange->request();
      exchange->reply(
          {.status = 201, .body = request.body + std::string(request.header("Idempotency-Key"))});
    });
    router.add("GET", "/never", [this](const auto& exchange) { kept_ = exchange; });
    router.add("GET", "/events", [](const auto& exchange) {
      const auto stream = exchange->stream();
      stream->send({"tick", "1", "one\ntwo"});
      stream->end();
    });
    router.add("GET", "/attach", [this](const auto& exchange) {
      auto fd = connect_unix(folder_.path() / "terminal.sock", Connecting::non_blocking);
      if (!fd) return exchange->refuse(fd.error());
      exchange->tunnel("paceline-pty", *serve_socket(loop_.io(), std::move(*fd)));
    });
    loop_.on([&] {
      server_.emplace(loop_.io(), listen_at_path(loop_.io(), path(), SocketAccess::owner),
                      std::move(router), ServerOptions{});
      ASSERT_TRUE(server_->start());
    });
  }
  void TearDown() override {
    loop_.on([&] {
      kept_ = nullptr;
      server_.reset();
    });
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "s.sock"; }
  [[nodiscard]] ServerAddress address() const {
    return {std::make_shared<UnixDialer>(path().string())};
  }

  TempFolder folder_;
  LoopThread loop_;
  std::shared_ptr<Exchange> kept_;
  std::optional<HttpServer> server_;
};

TEST_F(HttpClientTest, SendsABodyAndItsKey) {
  HttpClient http(address());
  const auto answer =
      http.send({.method = "POST", .target = "/echo", .body = "ab", .idempotency_key = "k"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "abk");
  EXPECT_EQ(http.send({.target = "/nowhere"})->status, 404);
}

TEST_F(HttpClientTest, EndsItsWaitWhenItIsInterrupted) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  auto server = address();
  server.interrupted = [&] { return read_end.get(); };
  HttpClient http(server);
  EXPECT_EQ(http.send({.target = "/never", .timeout = 1h}).error().code, ErrorCode::unavailable);
}

TEST_F(HttpClientTest, ReadsEventsAndTheEndOfTheirStream) {
  auto stream = EventStream::open(address(), "/events");
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(stream->next(60s)->value(), (ServerEvent{"tick", "one\ntwo", "1"}));
  EXPECT_EQ(stream->next(60s).error().code, ErrorCode::unavailable);
}

TEST_F(HttpClientTest, IsGivenAnUpgradedConnection) {
  Terminal terminal(folder_.path() / "terminal.sock");
  auto upgraded = open_upgrade(address(), "/attach", "paceline-pty");
  ASSERT_TRUE(upgraded) << upgraded.error().message;
  terminal.accept();
  EXPECT_EQ(upgraded->stream->send("in", 2).bytes, 2U);
  EXPECT_EQ(terminal.read(), "in");
  terminal.write("out");
  pollfd wait{upgraded->stream->descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
  char bytes[8];
  EXPECT_EQ(upgraded->stream->receive(bytes, sizeof bytes).bytes, 3U);
}

}  // namespace
}  // namespace paceline
