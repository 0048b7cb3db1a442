// Answers without an end: event streams and tunnels.
#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>

#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class HttpStreamTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    socket_ = folder_.path() / "s.sock";
    Router router;
    router.add("GET", "/events", [this](const auto& exchange) {
      stream_ = exchange->stream();
      stream_->on_gone([this] { gone_.set_value(); });
      begun_.set_value();
    });
    router.add("GET", "/large",
               [](const auto& exchange) { exchange->reply({.body = std::string(4 << 20, 'x')}); });
    router.add("GET", "/attach", [this](const auto& exchange) {
      auto fd = connect_unix(folder_.path() / "terminal.sock", Connecting::non_blocking);
      if (!fd) return exchange->refuse(fd.error());
      exchange->tunnel("paceline-pty", *serve_socket(loop_.io(), std::move(*fd)));
    });
    loop_.on([&] {
      server_.emplace(loop_.io(), listen_at_path(loop_.io(), socket_, SocketAccess::owner),
                      std::move(router), options);
      ASSERT_TRUE(server_->start().has_value());
    });
  }
  void TearDown() override {
    loop_.on([&] {
      stream_ = nullptr;
      server_.reset();
    });
  }

  void open(Client& client) {
    client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    begun_.get_future().get();
  }
  void send(int number, std::size_t bytes = 1) {
    loop_.on([&] { stream_->send({"chunk", fmt::format("{}", number), std::string(bytes, 'x')}); });
  }
  void wait_for_connections(std::size_t count) {
    while (loop_.on([&] { return server_->connections(); }) != count) std::this_thread::yield();
  }

  TempFolder folder_;
  std::filesystem::path socket_;
  std::promise<void> gone_, begun_;
  LoopThread loop_;
  std::shared_ptr<HttpStream> stream_;
  std::optional<HttpServer> server_;
};

// The id in the last whole event of kind `chunk`, as a client would remember it.
std::string last_id(const std::string& text) {
  const auto last = text.rfind("event: chunk\nid: ");
  if (last == std::string::npos) return "";
  const auto begin = last + 17;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST_F(HttpStreamTest, SendsEventsUntilItEnds) {
  start();
  Client client(socket_);
  open(client);
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream"));
  send(1);
  EXPECT_EQ(client.until("\n\n"), "event: chunk\nid: 1\ndata: x\n\n");
  loop_.on([&] {
    stream_->send({"", "", "two\nlines"});
    stream_->send({"end", "", "{}"});
    stream_->end();
  });
  EXPECT_EQ(client.rest(), "data: two\ndata: lines\n\nevent: end\ndata: {}\n\n");
}

TEST_F(HttpStreamTest, BeatsWhileNothingHappens) {
  start({.heartbeat_ms = 5ms});
  Client client(socket_);
  open(client);
  client.until("\r\n\r\n");
  EXPECT_EQ(client.until("\n\n"), ": still here\n\n");
  EXPECT_EQ(client.until("\n\n"), ": still here\n\n");
  send(1);
  EXPECT_THAT(client.until("data: x\n\n"), EndsWith("id: 1\ndata: x\n\n"));
}

// Of which a tunnel is one, too.
TEST_F(HttpStreamTest, EndsOnceItsReaderIsNotAdmittedAnyMore) {
  std::atomic<bool> good = true;
  const auto admit = [&](const HttpRequest& request) -> Result<void> {
    if (good && request.header("Authorization") == "Bearer x") return {};
    return fail(ErrorCode::forbidden, "Revoked.");
  };
  start({.admit = admit, .proof_ms = 20ms, .heartbeat_ms = 5ms});
  Client client(socket_);
  client.send("GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n");
  begun_.get_future().get();
  for (int i = 0; i < 20; ++i) client.until("\n\n");  // it goes on for as long as they are
  good = false;
  client.rest();
  gone_.get_future().get();
  wait_for_connections(0);
}

TEST_F(HttpStreamTest, NoticesThatTheReaderLeft) {
  start();
  Client client(socket_);
  open(client);
  client.close();
  gone_.get_future().get();
  send(1);
  wait_for_connections(0);
}

TEST_F(HttpStreamTest, NoticesItInTheMiddleOfALargeWrite) {
  start({.stream_bytes_max = 64 << 20});
  Client client(socket_);
  open(client);
  send(1, 8 << 20);
  client.until("data: xxx");
  client.close();
  gone_.get_future().get();
  wait_for_connections(0);
}

TEST_F(HttpStreamTest, CutsAReaderThatFallsBehindAndTellsWhereToResume) {
  start({.stream_bytes_max = 100'000});
  Client client(socket_);
  open(client);
  auto gone = gone_.get_future();
  int sent = 0;
  while (gone.wait_for(0s) != std::future_status::ready) send(++sent, 10'000);
  const auto text = client.rest();
  const auto id = last_id(text);
  EXPECT_LT(std::stoi(id), sent);
  EXPECT_THAT(text,
              EndsWith("event: cut\ndata: {\"reason\":\"slow\",\"resume\":\"" + id + "\"}\n\n"));
}

TEST_F(HttpStreamTest, CutsAReaderThatTakesNothing) {
  start({.stall_ms = 40ms});
  Client client(socket_);
  open(client);
  int sent = 0;
  while (loop_.on([&] { return stream_->has_room(); })) send(++sent, 10'000);
  gone_.get_future().get();
  EXPECT_LT(sent, 1'000) << "has_room() bounds the producer";
}

TEST_F(HttpStreamTest, TellsTheProducerWhenThereIsRoomAgain) {
  start({.stream_bytes_max = 1'000'000});
  Client client(socket_);
  open(client);
  int sent = 0;
  loop_.on([&] {
    const auto fill = [this, &sent] {
      while (sent < 500 && stream_->has_room()) {
        stream_->send({"chunk", fmt::format("{}", ++sent), std::string(10'000, 'x')});
      }
      if (sent == 500) stream_->end();
    };
    stream_->on_room(fill);
    fill();
  });
  EXPECT_EQ(last_id(client.rest()), "500");
}

TEST_F(HttpStreamTest, TellsTheProducerThatFoundNoRoomBecauseOfOthers) {
  start({.keeper = [](const Peer&) { return false; },
         .traffic_bytes_per_user_max = 2 << 20,
         .stream_bytes_max = 8 << 20});
  Client client(socket_), other(socket_);
  open(client);
  client.until("\r\n\r\n");
  send(1, 1 << 20);
  EXPECT_TRUE(loop_.on([&] { return stream_->has_room(); }));
  other.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  while (loop_.on([&] { return stream_->has_room(); })) std::this_thread::yield();
  std::promise<void> room;
  loop_.on([&] {
    stream_->on_room([&room, told = false]() mutable {
      if (!std::exchange(told, true)) room.set_value();
    });
  });
  client.until("\n\n");
  EXPECT_EQ(room.get_future().wait_for(10s), std::future_status::ready);
}

TEST_F(HttpStreamTest, AProducerGoesOnInTheNextTurn) {
  start();
  Client client(socket_);
  open(client);
  int calls = 0;
  loop_.on([&] {
    stream_->on_room([&] { ++calls; });
    stream_->go_on_later();
    stream_->go_on_later();
    EXPECT_EQ(calls, 0);
  });
  EXPECT_EQ(loop_.on([&] { return calls; }), 1);
}

TEST_F(HttpStreamTest, IsCutWhenTheServerStops) {
  start();
  Client client(socket_);
  open(client);
  send(7);
  client.until("data: x\n\n");
  std::promise<void> stopped;
  loop_.on([&] { server_->stop(10s, [&] { stopped.set_value(); }); });
  EXPECT_EQ(client.rest(), "event: cut\ndata: {\"reason\":\"stopping\",\"resume\":\"7\"}\n\n");
  stopped.get_future().get();
}

constexpr std::string_view kAttach =
    "GET /attach HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: paceline-pty\r\n\r\n";

TEST_F(HttpStreamTest, TunnelsBytesBothWays) {
  start();
  Terminal terminal(folder_.path() / "terminal.sock");
  Client client(socket_);
  client.send(std::string(kAttach) + "early");
  terminal.accept();
  const auto reply = client.reply();
  EXPECT_EQ(reply.status, 101);
  EXPECT_THAT(reply.head, HasSubstr("Upgrade: paceline-pty\r\n"));
  EXPECT_EQ(terminal.read(), "early");
  client.send("in");
  EXPECT_EQ(terminal.read(), "in");
  terminal.write("out");
  EXPECT_EQ(client.until("out"), "out");
  client.finish_sending();
  EXPECT_EQ(terminal.read(), "");
  terminal.write("bye");
  terminal.hang_up();
  EXPECT_EQ(client.rest(), "bye");
  wait_for_connections(0);
}

TEST_F(HttpStreamTest, ATunnelEndsWhenTheClientLeaves) {
  start();
  Terminal terminal(folder_.path() / "terminal.sock");
  Client client(socket_);
  client.send(kAttach);
  terminal.accept();
  EXPECT_EQ(client.reply().status, 101);
  client.close();
  EXPECT_EQ(terminal.read(), "");
  wait_for_connections(0);
}

TEST_F(HttpStreamTest, ATunnelNeedsSomebodyThere) {
  start();
  Client client(socket_);
  client.send(kAttach);
  EXPECT_EQ(client.reply().status, 503);
}

}  // namespace
}  // namespace paceline
