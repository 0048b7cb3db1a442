#include "http/server.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <optional>

#include "http/socket_listener.hpp"
#include "http/testing.hpp"
#include "http/traffic.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const auto nobody = [](const Peer&) { return false; };
const auto everybody = [](const Peer&) { return true; };

class HttpServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    socket_ = folder_.path() / "s.sock";
    Router router = routes();
    loop_.on([&] {
      server_.emplace(loop_.io(), listen_at_path(loop_.io(), socket_, SocketAccess::owner),
                      std::move(router), options);
      ASSERT_TRUE(server_->start().has_value());
    });
  }
  void TearDown() override {
    loop_.on([&] {
      kept_ = nullptr;
      server_.reset();
    });
  }

  Router routes() {
    Router router;
    add_plain_routes(router);
    router.add("GET", "/who/{name}", [](const auto& exchange) {
      const auto& request = exchange->request();
      exchange->reply({.body = fmt::format("{} {} {}", request.ids[0], request.query.at("q"),
                                           request.peer.account->uid == ::getuid() &&
                                               request.peer.account->pid > 0)});
    });
    router.add("GET", "/kept", [this](const auto& exchange) {
      exchange->on_gone([this] { gone_.set_value(); });
      kept_ = exchange;
      arrived_.set_value();
    });
    router.add("GET", "/broken", [](const auto&) { throw std::runtime_error("broken"); });
    router.add("GET", "/big",
               [](const auto& exchange) { exchange->reply({.body = std::string(8 << 20, 'x')}); });
    return router;
  }
  std::size_t connections() {
    return loop_.on([&] { return server_->connections(); });
  }
  // Comes true without sleeping: every question runs the loop once more.
  void wait_for_connections(std::size_t count) {
    while (connections() != count) std::this_thread::yield();
  }

  TempFolder folder_;
  std::filesystem::path socket_;
  std::promise<void> gone_, arrived_;
  LoopThread loop_;
  std::shared_ptr<Exchange> kept_;
  std::optional<HttpServer> server_;
};

TEST_F(HttpServerTest, KeepsAConnectionAlive) {
  start();
  Client client(socket_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.get("/hello").body, "{}");
    EXPECT_EQ(client.call("POST", "/echo", "abc").body, "abc");
  }
  EXPECT_EQ(connections(), 1U);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  Client client(socket_);
  expect_answers_in_order(client);
}

TEST_F(HttpServerTest, TellsRoutesWhoAsksForWhat) {
  start();
  Client client(socket_);
  EXPECT_EQ(client.get("/who/a%20b?q=1+2").body, "a b 1 2 true");
  EXPECT_EQ(client.get("/who/x?q=").body, "x  true");
}

TEST_F(HttpServerTest, ClosesWhenTheClientWantsIt) {
  start();
  Client client(socket_);
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.reply().head, HasSubstr("Connection: close"));
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, AnswersAClientThatIsDoneSending) {
  start();
  Client client(socket_);
  client.send("GET /soon HTTP/1.1\r\nHost: x\r\n\r\n");
  client.finish_sending();
  EXPECT_EQ(client.reply().body, "soon");
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, SaysWhatIsNotThere) {
  start();
  Client client(socket_);
  const auto missing = client.get("/nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, StartsWith(R"({"error":{"code":"not_found")"));
  const auto wrong = client.call("DELETE", "/hello", "");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_THAT(wrong.head, HasSubstr("Allow: GET\r\n"));
  EXPECT_EQ(client.get("/%zz").status, 400);
  EXPECT_EQ(client.get("/hello").status, 200) << "the connection survived all that";
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  start();
  Client client(socket_);
  client.send("once upon a time\r\n\r\n");
  const auto reply = client.reply();
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("not an HTTP request"));
  EXPECT_TRUE(client.closed());
}

// A proxy in front could take each of them for something else.
TEST_F(HttpServerTest, RefusesWhatCanBeReadInTwoWays) {
  start();
  const std::string host = "Host: x\r\n", echo = "POST /echo HTTP/1.1\r\n";
  for (const auto& [request, what] : std::vector<std::pair<std::string, std::string>>{
           {"GET /hello HTTP/1.1\r\n", "no Host"},
           {"GET /hello HTTP/1.1\r\n" + host + host, "more than one Host"},
           {"GET http://x/hello HTTP/1.1\r\n" + host, "no path"},
           {"OPTIONS * HTTP/1.1\r\n" + host, "no path"},
           {"GET /hello HTTP/1.1\r\n" + host + "X: a\r\n b\r\n", "on the next one"},
           {"GET /hello HTTP/1.1\r\n" + host + "X: a\r\n\tb\r\n", "on the next one"},
           {echo + host + "Transfer-Encoding: gzip\r\nContent-Length: 0\r\n", "Content-Length and"},
           {echo + host + "Content-Length: 0\r\nTransfer-Encoding: identity\r\n",
            "bad Transfer-Encoding"},
           {echo + host + "Transfer-Encoding: gzip, chunked\r\n", "other than 'chunked'"},
           {echo + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "bad Transfer-Encoding"},
           {echo + host + "Transfer-Encoding: gzip\r\n", "other than 'chunked'"}}) {
    Client client(socket_);
    client.send(request + "\r\n");
    const auto reply = client.reply();
    EXPECT_EQ(reply.status, 400) << request;
    EXPECT_THAT(reply.body, HasSubstr(what)) << request;
    EXPECT_TRUE(client.closed()) << request;
  }
  Client client(socket_);
  EXPECT_EQ(client.get("/who%2Fx?q=1").status, 400);
  client.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
}

TEST_F(HttpServerTest, ReadsAHeaderThatComesInPieces) {
  start();
  Client client(socket_);
  const std::string request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok";
  for (const char byte : request) client.send(std::string(1, byte));
  EXPECT_EQ(client.reply().body, "ok");
}

TEST_F(HttpServerTest, RefusesAHeaderOverItsBound) {
  start();
  Client client(socket_);
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413);
}

TEST_F(HttpServerTest, RefusesAHeaderThatComesInPiecesOverItsBound) {
  start({.header_bytes_max = 100});
  const auto reply_to = [this](std::size_t bytes) {
    std::string request = "GET /hello HTTP/1.1\r\nHost: x\r\nX: ";
    request += std::string(bytes - request.size() - 4, 'x') + "\r\n\r\n";
    Client client(socket_);
    for (const char byte : request) client.send(std::string(1, byte));
    return client.reply().status;
  };
  EXPECT_EQ(reply_to(100), 200);
  EXPECT_EQ(reply_to(101), 413);
}

TEST_F(HttpServerTest, RefusesABodyOverItsBoundWhileItIsStillSent) {
  start({.body_bytes_max = 1 << 20});
  const std::string much((3 << 20), 'x');
  Client announced(socket_);
  EXPECT_EQ(announced.call("POST", "/echo", much).status, 413);
  Client chunked(socket_);
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n300000\r\n");
  chunked.send(much);
  EXPECT_EQ(chunked.reply().status, 413);
  Client fits(socket_);
  EXPECT_EQ(fits.call("POST", "/echo", much.substr(0, 1 << 20)).body.size(), 1U << 20);
}

TEST_F(HttpServerTest, TellsAPatientClientToContinue) {
  start();
  Client client(socket_);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send("ok");
  EXPECT_EQ(client.reply().body, "ok");
}

TEST_F(HttpServerTest, HalfARequestHarmsNobody) {
  start();
  Client header(socket_), body(socket_), other(socket_);
  header.send("GET /hel");
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  header.close();
  body.close();
  EXPECT_EQ(other.get("/hello").status, 200);
  wait_for_connections(1);
}

TEST_F(HttpServerTest, ClosesIdleAndUnfinishedConnections) {
  start({.idle_ms = 40ms, .body_ms = 40ms});
  Client idle(socket_), header(socket_), body(socket_);
  header.send("GET /hel");
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(header.closed());
  EXPECT_TRUE(body.closed());
}

TEST_F(HttpServerTest, CutsAClientThatDoesNotTakeItsResponse) {
  start({.write_ms = 40ms});
  Client client(socket_);
  client.get("/hello");
  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for_connections(0);
  EXPECT_LT(client.rest().size(), 8U << 20);
}

TEST_F(HttpServerTest, ADefectOfARouteIsAnAnswerToo) {
  start();
  Client client(socket_);
  const auto reply = client.get("/broken");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, HasSubstr("internal"));
  EXPECT_EQ(client.get("/hello").status, 200);
}

TEST_F(HttpServerTest, NoticesThatTheClientLeavesWhileItWaits) {
  start();
  Client client(socket_);
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.close();
  gone_.get_future().get();
  wait_for_connections(0);
  loop_.on([&] { kept_->reply({.body = "too late"}); });
}

TEST_F(HttpServerTest, NoticesItOnALaterRequestToo) {
  start();
  Client client(socket_);
  EXPECT_EQ(client.get("/soon").body, "soon");
  EXPECT_EQ(client.get("/soon").body, "soon");
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.close();
  gone_.get_future().get();
}

TEST_F(HttpServerTest, TurnsAwayConnectionsOverItsBound) {
  start({.keeper = nobody, .connections_max = 2});
  Client first(socket_), second(socket_);
  first.get("/hello");
  second.get("/hello");
  Client third(socket_);
  const auto reply = third.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("unavailable"));
  EXPECT_TRUE(third.closed());
  first.close();
  wait_for_connections(1);
  Client fourth(socket_);
  EXPECT_EQ(fourth.get("/hello").status, 200);
}

TEST_F(HttpServerTest, TurnsAwayOneUsersConnectionsOverTheirBound) {
  start({.keeper = nobody, .connections_per_user_max = 2});
  Client first(socket_), second(socket_);
  first.get("/hello");
  second.get("/hello");
  Client third(socket_);
  const auto reply = third.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("as one user may"));
  EXPECT_EQ(first.get("/hello").status, 200);
}

TEST_F(HttpServerTest, ClosesTheStillestConnectionForAKeeper) {
  start({.keeper = everybody, .connections_max = 3, .connections_per_user_max = 1});
  Client busy(socket_), still(socket_), later(socket_);
  busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  still.get("/hello");
  later.get("/hello");
  Client keeper(socket_);
  EXPECT_EQ(keeper.get("/hello").status, 200);
  EXPECT_TRUE(still.closed());
  EXPECT_EQ(later.get("/hello").status, 200);
  loop_.on([&] { kept_->reply({.body = "done"}); });
  EXPECT_EQ(busy.reply().body, "done");
}

// Where anybody may connect: those that show nothing keep nobody out.
TEST_F(HttpServerTest, TakesTheNextInPlaceOfOneThatProvedNothing) {
  start({.when_full = WhenFull::replace, .connections_max = 3, .proof_ms = 60s});
  Client resting(socket_), silent(socket_), unproved(socket_);
  resting.get("/hello");
  EXPECT_EQ(silent.get("/nowhere").status, 404);
  unproved.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
  wait_for_connections(3);
  Client first(socket_);
  EXPECT_EQ(first.get("/hello").status, 200);
  EXPECT_TRUE(silent.closed());
  Client second(socket_);
  EXPECT_EQ(second.get("/hello").status, 200);
  EXPECT_TRUE(unproved.closed());
  EXPECT_EQ(resting.get("/hello").status, 200);
}

TEST_F(HttpServerTest, TurnsTheNextAwayWhileAllAreBeingAnswered) {
  start({.when_full = WhenFull::replace, .connections_max = 1});
  Client busy(socket_);
  busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  Client next(socket_);
  EXPECT_EQ(next.reply().status, 503);
  loop_.on([&] { kept_->reply({.body = "done"}); });
  EXPECT_EQ(busy.reply().body, "done");
}

TEST_F(HttpServerTest, WaitsLessForAFirstGoodRequest) {
  start({.idle_ms = 60s, .proof_ms = 5ms});
  Client silent(socket_), half(socket_);
  half.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
}

constexpr std::size_t kBig = 8 << 20;

TEST_F(HttpServerTest, RefusesBodiesBeyondWhatAUserMayHold) {
  start({.keeper = nobody, .traffic_bytes_per_user_max = 3 << 20});
  Client first(socket_);
  first.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
      "Content-Length: 2097152\r\n\r\n");
  EXPECT_EQ(first.reply().status, 100);
  Client second(socket_);
  const auto refused = second.call("POST", "/echo", std::string(2 << 20, 'x'));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("Your requests hold"));
  first.send(std::string(2 << 20, 'x'));
  EXPECT_EQ(first.reply().body.size(), 2U << 20);
  Client third(socket_);
  EXPECT_EQ(third.call("POST", "/echo", std::string(2 << 20, 'x')).status, 201);
}

TEST_F(HttpServerTest, AnswersNoClientThatLeavesTooMuchUnread) {
  start({.keeper = nobody, .traffic_bytes_per_user_max = kBig});
  Client unread(socket_), other(socket_);
  unread.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(unread.until("\r\n\r\n"), HasSubstr("200"));
  const auto refused = other.get("/hello");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("unread answers"));
  EXPECT_EQ(unread.take(kBig).size(), kBig);
  EXPECT_EQ(other.get("/hello").status, 200);
}

TEST_F(HttpServerTest, DropsTheOldestUnreadAnswerForAKeeper) {
  start({.keeper = everybody, .traffic_bytes_max = 2 * kBig});
  Client first(socket_), second(socket_), keeper(socket_);
  for (auto* client : {&first, &second}) {
    client->send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client->until("\r\n\r\n"), HasSubstr("200"));
  }
  EXPECT_EQ(keeper.get("/hello").status, 200);
  EXPECT_LT(first.rest().size(), kBig);
  EXPECT_EQ(second.take(kBig).size(), kBig);
}

TEST(Traffic, CountsPerUserAndForAll) {
  Traffic traffic(100, 60);
  ConnectionLoad one(traffic, "1"), more(traffic, "1");
  one.set(40);
  EXPECT_TRUE(traffic.has_room("1", 20));
  EXPECT_FALSE(traffic.has_room("1", 21));
  {
    ConnectionLoad two(traffic, "2");
    two.set(50);
    EXPECT_FALSE(traffic.has_room("1", 11));
    EXPECT_TRUE(traffic.has_room(10));
  }
  more.set(20);
  EXPECT_FALSE(traffic.has_room("1", 1));
  EXPECT_TRUE(traffic.has_room("2", 40));
  one.set(0);
  EXPECT_EQ(traffic.total(), 20U);
}

TEST_F(HttpServerTest, AdmitsOnlyWhomItIsTold) {
  start({.admit = [](const HttpRequest& request) -> Result<void> {
    return fail(ErrorCode::forbidden, fmt::format("not {}", request.peer.origin));
  }});
  Client client(socket_);
  const auto reply = client.get("/hello");
  EXPECT_EQ(reply.status, 403);
  EXPECT_THAT(reply.body, HasSubstr(fmt::format("not uid {}", ::getuid())));
}

TEST_F(HttpServerTest, StopsOnceRunningRequestsAreAnswered) {
  start();
  Client idle(socket_), busy(socket_);
  idle.get("/hello");
  busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  std::promise<void> stopped;
  loop_.on([&] { server_->stop(10s, [&] { stopped.set_value(); }); });
  EXPECT_TRUE(idle.closed());
  EXPECT_FALSE(std::filesystem::exists(socket_));
  loop_.on([&] { kept_->reply({.body = "done"}); });
  EXPECT_EQ(busy.reply().body, "done");
  stopped.get_future().get();
}

TEST_F(HttpServerTest, StopsAnywayWhenPatienceEnds) {
  start();
  Client busy(socket_);
  busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  std::promise<void> stopped;
  loop_.on([&] { server_->stop(1ms, [&] { stopped.set_value(); }); });
  stopped.get_future().get();
  EXPECT_TRUE(busy.closed());
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat there {};
  EXPECT_EQ(::stat(path.c_str(), &there), 0);
  return there.st_mode & 0777;
}

TEST(UnixSocket, IsPrivateOrForEveryone) {
  const TempFolder folder;
  const auto own = listen_unix(folder.path() / "own", SocketAccess::owner);
  const auto all = listen_unix(folder.path() / "all", SocketAccess::everyone);
  EXPECT_EQ(mode_of(folder.path() / "own"), 0600U);
  EXPECT_EQ(mode_of(folder.path() / "all"), 0666U);
}

TEST(UnixSocket, WorksAtALongPath) {
  const TempFolder folder;
  const auto deep = folder.path() / std::string(100, 'a') / std::string(100, 'b');
  std::filesystem::create_directories(deep);
  const auto listening = listen_unix(deep / "paceline.sock", SocketAccess::owner);
  ASSERT_TRUE(listening.has_value()) << listening.error().message;
  const auto connected = connect_unix(deep / "paceline.sock", Connecting::non_blocking);
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
}

TEST(UnixSocket, ReplacesAStaleSocketAndNothingElse) {
  const TempFolder folder;
  const auto path = folder.path() / "s";
  listen_unix(path, SocketAccess::owner)->reset();
  EXPECT_EQ(connect_unix(path, Connecting::blocking).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(listen_unix(path, SocketAccess::owner));
  std::ofstream(folder.path() / "file") << "precious";
  EXPECT_EQ(listen_unix(folder.path() / "file", SocketAccess::owner).error().code,
            ErrorCode::conflict);
  EXPECT_EQ(listen_unix(folder.path() / "no" / "s", SocketAccess::owner).error().code,
            ErrorCode::storage);
}

}  // namespace
}  // namespace paceline
