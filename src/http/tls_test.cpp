// HTTP over TLS: the server and the client of this folder, on loopback.
#include <gmock/gmock.h>
#include <poll.h>

#include "http/tls_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kOpensTunnel =
    "GET /attach HTTP/1.1\r\nHost: x\r\nUpgrade: paceline-pty\r\n\r\n";

TEST_F(TlsHttpTest, KeepsAConnectionForRequestsAndBodies) {
  start();
  Client client = this->client();
  const std::string much(3 << 20, 'y');
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.get("/hello").body, "{}");
    EXPECT_EQ(client.call("POST", "/echo", "abc").body, "abc");
    EXPECT_EQ(client.call("POST", "/echo", much).body, much);
  }
  EXPECT_EQ(connections(), 1U);
}

TEST_F(TlsHttpTest, ReadsARequestThatComesByteByByte) {
  start();
  Client client = this->client();
  const std::string request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok";
  for (const char byte : request) client.send(std::string(1, byte));
  EXPECT_EQ(client.reply().body, "ok");
}

TEST_F(TlsHttpTest, AnswersPipelinedRequestsInOrder) {
  start();
  Client client = this->client();
  expect_answers_in_order(client);
}

TEST_F(TlsHttpTest, IsReachedByNameAndByAddress) {
  start_with(authority_.issue_server(now())->credentials, {}, {}, "::");
  for (const auto* host : {"127.0.0.1", "localhost", "::1"}) {
    HttpClient http({std::make_shared<TlsDialer>(options(host))});
    const auto answer = http.send({.target = "/who"});
    ASSERT_TRUE(answer) << host << ": " << answer.error().message;
    EXPECT_THAT(answer->body, ::testing::AnyOf("127.0.0.1 false -", "::1 false -")) << host;
  }
}

TEST_F(TlsHttpTest, IsDialledFromTheAddressThatWasAskedFor) {
  start();
  auto way = options();
  way.from = "127.1.2.3";
  Client client(dial(way));
  EXPECT_EQ(client.get("/who").body, "127.1.2.3 false -");
  way.from = "192.0.2.1";
  EXPECT_THAT(refusal(way).message, HasSubstr("Cannot assign requested address"));
}

TEST_F(TlsHttpTest, GivesASlowReaderAllOfABigAnswer) {
  start();
  Client client = this->client();
  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("200"));
  Client other = this->client();
  EXPECT_EQ(other.get("/hello").body, "{}") << "nobody waits for the slow one";
  EXPECT_EQ(client.take(kBigBytes), std::string(kBigBytes, 'x'));
  EXPECT_EQ(client.get("/hello").body, "{}");
}

TEST_F(TlsHttpTest, CutsAReaderThatTakesNothing) {
  start({.write_ms = 40ms});
  Client client = this->client();
  client.get("/hello");
  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for_connections(0);
  EXPECT_LT(client.rest().size(), kBigBytes);
}

TEST_F(TlsHttpTest, StreamsEventsUntilTheirEnd) {
  start();
  auto stream = EventStream::open(address(), "/events");
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(stream->next(60s)->value(), (ServerEvent{"tick", "one", "1"}));
  loop_.on([&] {
    for (int i = 0; i < 100; ++i) events_->send({"tick", "2", std::string(1000, 'z')});
    events_->end();
  });
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(stream->next(60s)->value(), (ServerEvent{"tick", std::string(1000, 'z'), "2"}));
  EXPECT_EQ(stream->next(60s).error().code, ErrorCode::unavailable);
}

TEST_F(TlsHttpTest, CarriesATunnelBothWays) {
  start();
  Terminal terminal(folder_.path() / "terminal.sock");
  auto upgraded = open_upgrade(address(), "/attach", "paceline-pty");
  ASSERT_TRUE(upgraded) << upgraded.error().message;
  terminal.accept();
  Client far(std::move(upgraded->stream));
  far.send("in");
  EXPECT_EQ(terminal.read(), "in");
  terminal.write("out");
  EXPECT_EQ(far.take(3), "out");
  terminal.hang_up();
  EXPECT_TRUE(far.closed());
  wait_for_connections(0);
}

TEST_F(TlsHttpTest, EndsATunnelWhoseClientLeaves) {
  start();
  Terminal terminal(folder_.path() / "terminal.sock");
  auto upgraded = open_upgrade(address(), "/attach", "paceline-pty");
  ASSERT_TRUE(upgraded) << upgraded.error().message;
  terminal.accept();
  upgraded->stream.reset();
  EXPECT_EQ(terminal.read(), "") << "the end";
  terminal.hang_up();
  wait_for_connections(0);
}

TEST_F(TlsHttpTest, ClosesNoTunnelOfANodeForOthers) {
  start({.when_full = WhenFull::replace, .connections_max = 1});
  Terminal terminal(folder_.path() / "terminal.sock");
  auto way = options();
  way.shown = node_of(authority_, now());
  Client node(dial(way));
  node.send(kOpensTunnel);
  terminal.accept();
  EXPECT_THAT(node.until("\r\n\r\n"), HasSubstr("101"));
  Client reader = client();
  reader.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(reader.until("one"), HasSubstr("200"));
  Client next = client();
  EXPECT_EQ(next.get("/hello").body, "{}");
  reader.rest();  // until its end
  terminal.write("still there");
  EXPECT_EQ(node.take(11), "still there");
}

TEST_F(TlsHttpTest, TunnelsOfNodesTakeNobodysPlace) {
  start({.when_full = WhenFull::replace, .connections_max = 1});
  Terminal terminal(folder_.path() / "terminal.sock");
  auto way = options();
  way.shown = node_of(authority_, now());
  Client node(dial(way));
  node.send(kOpensTunnel);
  terminal.accept();
  EXPECT_THAT(node.until("\r\n\r\n"), HasSubstr("101"));
  EXPECT_EQ(client().get("/hello").body, "{}");
  terminal.write("still there");
  EXPECT_EQ(node.take(11), "still there");
}

TEST_F(TlsHttpTest, ANodeHasSoManyTunnels) {
  start({.when_full = WhenFull::replace, .tunnels_per_node_max = 1});
  Terminal terminal(folder_.path() / "terminal.sock");
  auto way = options();
  way.shown = node_of(authority_, now());
  const auto dialled = [&] {
    Client node(dial(way));
    node.send(kOpensTunnel);
    return node;
  };
  Client first = dialled();
  terminal.accept();
  EXPECT_THAT(first.until("\r\n\r\n"), HasSubstr("101"));
  EXPECT_EQ(dialled().reply().status, 503);
  terminal.write("still there");
  EXPECT_EQ(first.take(11), "still there");
  first.close();
  terminal.hang_up();
  wait_for_connections(0);
  EXPECT_THAT(dialled().until("\r\n\r\n"), HasSubstr("101"));
}

TEST_F(TlsHttpTest, NoticesThatAClientLeavesWhileItWaits) {
  start();
  Client client = this->client();
  EXPECT_EQ(client.get("/soon").body, "soon");
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.close();
  gone_.get_future().get();
  wait_for_connections(0);
  loop_.on([&] { kept_->reply({.body = "too late"}); });
}

TEST_F(TlsHttpTest, NoticesAClientThatIsCutOff) {
  start();
  Client client = this->client();
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.cut();
  gone_.get_future().get();
  wait_for_connections(0);
}

TEST_F(TlsHttpTest, LooksAtAWaitingClientThatSendsMore) {
  start();
  Client client = this->client();
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  loop_.on([&] { kept_->reply({.body = "now"}); });
  EXPECT_EQ(client.reply().body, "now");
  EXPECT_EQ(client.reply().body, "{}");
}

TEST_F(TlsHttpTest, TurnsAwayConnectionsOverItsBound) {
  start({.connections_per_user_max = 1});
  Client first = this->client();
  EXPECT_EQ(first.get("/hello").status, 200);
  Client second = this->client();
  const auto reply = second.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("as one user may"));
  EXPECT_TRUE(second.closed());
}

TEST_F(TlsHttpTest, StopsWithConnectionsInEveryState) {
  start();
  Client idle = this->client(), busy = this->client(), reading = this->client();
  idle.get("/hello");
  busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  reading.send("GET /hel");
  std::promise<void> stopped;
  loop_.on([&] { server_->stop(10s, [&] { stopped.set_value(); }); });
  EXPECT_TRUE(idle.closed());
  loop_.on([&] { kept_->reply({.body = "done"}); });
  EXPECT_EQ(busy.reply().body, "done");
  stopped.get_future().get();
  EXPECT_THAT(refusal(options()).message, HasSubstr("Nobody answers at 127.0.0.1:"));
}

}  // namespace
}  // namespace paceline
