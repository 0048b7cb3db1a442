#include "http/client.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <csignal>

#include "cli/client/interrupt.hpp"
#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

ServerAddress fake_address(const FakeServer& server) {
  return {std::make_shared<UnixDialer>(server.directory() + "/paceline.sock"), &Interrupt::fd};
}

TEST(HttpClient, KeepsItsConnection) {
  const FakeServer server([](const FakeRequest& request) { return FakeAnswer{request.target}; });
  HttpClient http(fake_address(server));
  EXPECT_EQ(http.send({.target = "/a"})->body, "/a");
  EXPECT_EQ(http.send({.target = "/b"})->body, "/b");
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, TakesAnotherConnectionForALostOne) {
  int asked = 0;
  const FakeServer server([&](const FakeRequest&) {
    return ++asked == 2 ? FakeAnswer{"", 200, FakeAnswer::Kind::hang_up} : FakeAnswer{"{}"};
  });
  HttpClient http(fake_address(server));
  EXPECT_TRUE(http.send({.target = "/a"}));
  EXPECT_TRUE(http.send({.target = "/b"}));
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, TellsThatANewConnectionWasLost) {
  const FakeServer server([](const FakeRequest&) {
    return FakeAnswer{"", 200, FakeAnswer::Kind::hang_up};
  });
  HttpClient http(fake_address(server));
  const auto answer = http.send({.target = "/a"});
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
  EXPECT_EQ(answer.error().retry, Retry::may_help);
}

TEST(HttpClient, DoesNotWaitForever) {
  const TestDirectory directory;
  const auto path = directory.path() + "/deaf.sock";
  boost::asio::io_context io;
  const boost::asio::local::stream_protocol::acceptor deaf(io, {path});
  HttpClient http({std::make_shared<UnixDialer>(path)});
  ClientRequest request;
  request.target = "/";
  request.timeout = std::chrono::milliseconds{10};
  EXPECT_EQ(http.send(request).error().message, "The server does not answer.");
}

TEST(EventStream, GivesEventsUntilItEnds) {
  const FakeServer server([](const FakeRequest&) {
    return FakeAnswer{"data: 1\n\ndata: 2\n\n", 200, FakeAnswer::Kind::events};
  });
  auto stream = EventStream::open(fake_address(server), "/events");
  ASSERT_TRUE(stream);
  const Duration patient = std::chrono::seconds{60};
  EXPECT_EQ(stream->next(patient)->value().data, "1");
  EXPECT_EQ(stream->next(patient)->value().data, "2");
  EXPECT_EQ(stream->next(patient).error().code, ErrorCode::unavailable);
}

TEST(EventStream, PassesARefusalOn) {
  const FakeServer server(
      [](const FakeRequest&) { return fake_error(403, "forbidden", "Not yours."); });
  EXPECT_EQ(EventStream::open(fake_address(server), "/events").error().message, "Not yours.");
}

TEST(Upgrade, GivesTheConnectionAway) {
  const FakeServer server([](const FakeRequest&) {
    return FakeAnswer{"$ ", 101, FakeAnswer::Kind::tunnel};
  });
  auto upgraded = open_upgrade(fake_address(server), "/v1/jobs/7/attach", "paceline-pty");
  ASSERT_TRUE(upgraded) << upgraded.error().message;
  ASSERT_EQ(upgraded->stream->send("ls\n\x04", 4).bytes, 4U);
  std::string text = upgraded->first;
  std::array<char, 64> bytes{};
  for (;;) {
    const auto came = upgraded->stream->receive(bytes.data(), bytes.size());
    pollfd wait{upgraded->stream->descriptor(), came.awaits, 0};
    if (came.bytes == 0 && came.awaits == 0) break;
    if (came.bytes == 0) ::poll(&wait, 1, 10'000);
    text.append(bytes.data(), came.bytes);
  }
  EXPECT_EQ(text, "$ ls\n");
}

TEST(Upgrade, PassesARefusalOn) {
  const FakeServer server(
      [](const FakeRequest&) { return fake_error(409, "conflict", "It has no terminal."); });
  EXPECT_EQ(open_upgrade(fake_address(server), "/v1/jobs/7/attach", "paceline-pty").error().message,
            "It has no terminal.");
}

TEST(Interrupt, EndsWaits) {
  const Interrupt interrupt;
  EXPECT_TRUE(Interrupt::sleep(std::chrono::milliseconds{1}));
  std::raise(SIGINT);
  EXPECT_EQ(Interrupt::pending(), SIGINT);
  EXPECT_FALSE(Interrupt::sleep(std::chrono::hours{1}));
}

TEST(Interrupt, LeavesTheSignalsAsTheyWere) {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  { const Interrupt interrupt; }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_EQ(Interrupt::fd(), -1);
  EXPECT_EQ(Interrupt::pending(), 0);
}

}  // namespace
}  // namespace paceline
