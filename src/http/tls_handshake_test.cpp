// Strangers at a port with TLS: one that says nothing, half of it, something else, or leaves anywhere.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <vector>

#include "http/tls_context.hpp"
#include "http/tls_session.hpp"
#include "http/tls_testing.hpp"
#include "trust/openssl.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kUncut = 1 << 20;

UniqueFd tcp_socket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

UniqueFd connect_plainly(std::uint16_t port, UniqueFd fd = tcp_socket()) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

// All that comes until the end.
std::string rest_of(const UniqueFd& fd) {
  std::string all;
  char bytes[4096];
  for (;;) {
    pollfd state{fd.get(), POLLIN, 0};
    if (::poll(&state, 1, 10'000) <= 0) return "no end";
    const auto count = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0) return all;
    all.append(bytes, static_cast<std::size_t>(count));
  }
}

// A wire to a server that passes so many bytes each way and is cut then, or when an end lets go.
class CutWire {
 public:
  struct Lengths {
    std::size_t to_server = kUncut;
    std::size_t to_client = kUncut;
  };

  CutWire(std::uint16_t server, Lengths lengths)
      : listening_(value_of(listen_tcp({"127.0.0.1", 0}))), thread_([=, this] {
          pollfd state{listening_.get(), POLLIN, 0};
          if (::poll(&state, 1, 10'000) <= 0) return;
          const UniqueFd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
          carry(client.get(), connect_plainly(server).get(), lengths);
        }) {}
  ~CutWire() { thread_.join(); }
  CutWire(const CutWire&) = delete;
  CutWire& operator=(const CutWire&) = delete;
  [[nodiscard]] std::uint16_t port() const { return tcp_address_of(listening_.get()).port; }

 private:
  static void carry(int client, int server, Lengths left) {
    while (left.to_server > 0 && left.to_client > 0) {
      std::array<pollfd, 2> ends = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
      if (::poll(ends.data(), ends.size(), 10'000) <= 0) return;
      if (ends[0].revents != 0 && !pass(client, server, left.to_server)) return;
      if (ends[1].revents != 0 && !pass(server, client, left.to_client)) return;
    }
  }
  static bool pass(int from, int to, std::size_t& left) {
    std::array<char, 4096> bytes{};
    const auto count = ::recv(from, bytes.data(), std::min(left, bytes.size()), 0);
    if (count <= 0) return false;
    left -= static_cast<std::size_t>(count);
    return ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
  }

  UniqueFd listening_;
  std::thread thread_;
};

// A client that believes anybody, to say things that TlsDialer doesn't.
class RawTls {
 public:
  explicit RawTls(std::uint16_t port) : RawTls(connect_plainly(port)) {}
  explicit RawTls(UniqueFd connected)
      : fd_(std::move(connected)),
        context_(value_of(make_client_context({}))),
        session_(*context_, fd_.get(), TlsSide::client) {
    repeat([&] { return session_.shake_hands(); });
  }
  void send(std::string_view text) {
    repeat([&] { return session_.send(text.data(), text.size()); });
  }
  void finish_sending() {
    repeat([&] { return session_.finish(); });
  }
  // Until the server's close_notify, or "lost".
  std::string rest() {
    std::string all;
    for (std::array<char, 4096> bytes{};;) {
      const auto tried = repeat([&] { return session_.receive(bytes.data(), bytes.size()); });
      if (tried.bytes == 0) return tried.reason == 0 ? all : "lost";
      all.append(bytes.data(), tried.bytes);
    }
  }

 private:
  template <class Attempt>
  TlsSession::Try repeat(Attempt attempt) {
    for (;;) {
      const auto tried = attempt();
      if (tried.bytes > 0 || tried.awaits == 0) return tried;
      pollfd state{fd_.get(), tried.awaits, 0};
      if (::poll(&state, 1, 10'000) <= 0) return {.reason = ETIMEDOUT};
    }
  }

  UniqueFd fd_;
  TlsContext context_;
  TlsSession session_;
};

// No descriptor more than are open now.
class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const UniqueFd next(::dup(0));
    set({static_cast<rlim_t>(next.get()), before_.rlim_max});
  }
  ~FewDescriptors() { set(before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  static void set(const rlimit& limit) { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0); }
  rlimit before_{};
};

class TlsHandshakeTest : public TlsHttpTest {};

TEST_F(TlsHandshakeTest, SilentStrangersKeepNobodyOut) {
  start({}, {.handshakes_max = 8, .handshakes_per_address_max = 4, .handshake_ms = 1h});
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(connect_plainly(port_));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client().get("/hello").status, 200);
  for (std::size_t i = 0; i < 196; ++i) ASSERT_EQ(rest_of(strangers[i]), "") << i;
  wait_for_connections(0);
}

TEST_F(TlsHandshakeTest, AllAddressesTogetherHaveABound) {
  start({}, {.handshakes_max = 4, .handshakes_per_address_max = 100, .handshake_ms = 1h});
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 50; ++i) strangers.push_back(connect_plainly(port_));
  EXPECT_EQ(client().get("/hello").status, 200);
  for (std::size_t i = 0; i < 46; ++i) ASSERT_EQ(rest_of(strangers[i]), "") << i;
}

TEST_F(TlsHandshakeTest, EachHasADeadline) {
  start({}, {.handshake_ms = 20ms});
  const auto silent = connect_plainly(port_);
  const auto half = connect_plainly(port_);
  ASSERT_EQ(::send(half.get(), "\x16\x03\x01\x02", 4, 0), 4);
  EXPECT_EQ(rest_of(silent), "");
  EXPECT_EQ(rest_of(half), "");
}

TEST_F(TlsHandshakeTest, RunBesideEachOther) {
  start({}, {.handshake_ms = 1h});
  const auto silent = connect_plainly(port_);
  const auto half = connect_plainly(port_);
  ASSERT_EQ(::send(half.get(), "\x16\x03\x01\x02", 4, 0), 4);
  EXPECT_EQ(client().get("/hello").status, 200);
}

TEST_F(TlsHandshakeTest, WhatIsNoTlsGetsAnEndAndIsTold) {
  std::vector<std::string> told;
  start({}, {.refused = [&](std::string_view from, std::string_view why) {
          told.push_back(std::string(from) + ": " + std::string(why));
        }});
  for (const std::string_view said : {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-x\r\n"}) {
    const auto plain = connect_plainly(port_);
    ASSERT_EQ(::send(plain.get(), said.data(), said.size(), 0), static_cast<ssize_t>(said.size()));
    EXPECT_THAT(rest_of(plain), Not(StartsWith("HTTP")));
  }
  EXPECT_THAT(loop_.on([&] { return told; }),
              ElementsAre("127.0.0.1: http request", "127.0.0.1: wrong version number"));
}

// A client that is killed at any byte it sends, its certificate among them.
TEST_F(TlsHandshakeTest, AClientMayLeaveAtAnyByte) {
  start();
  auto by = options();
  by.shown = node_of(authority_, now());
  std::size_t cuts = 0;
  for (bool answered = false; !answered; ++cuts) {
    ASSERT_LT(cuts, 4000U);
    const CutWire wire(port_, {.to_server = cuts});
    by.port = wire.port();
    HttpClient http({std::make_shared<TlsDialer>(by)});
    answered = http.send({.target = "/hello"}).has_value();
  }
  EXPECT_GT(cuts, 1000U) << "hello, certificate, proof, end and a request";
  wait_for_connections(0);
  EXPECT_EQ(client().get("/hello").status, 200);
}

// A server that is gone at any byte of its answer: the dial ends with an error, and says nothing
// before it knows who is there.
TEST_F(TlsHandshakeTest, AServerMayLeaveAtAnyByte) {
  start();
  auto by = options();
  std::size_t cuts = 1;
  for (bool dialled = false; !dialled; ++cuts) {
    ASSERT_LT(cuts, 4000U);
    const CutWire wire(port_, {.to_client = cuts});
    by.port = wire.port();
    const auto stream = TlsDialer(by).dial();
    dialled = stream.has_value();
    if (dialled) break;
    EXPECT_EQ(stream.error().code, ErrorCode::unavailable) << cuts;
    EXPECT_THAT(stream.error().message, HasSubstr("did not show who it is")) << cuts;
  }
  EXPECT_GT(cuts, 1000U) << "two certificates";
  wait_for_connections(0);
}

TEST_F(TlsHandshakeTest, AServerWithoutTlsIsSaidToBeOne) {
  const auto plain = value_of(listen_tcp({"127.0.0.1", 0}));
  std::thread server([&] {
    pollfd state{plain.get(), POLLIN, 0};
    ::poll(&state, 1, 10'000);
    const UniqueFd fd(::accept4(plain.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string_view answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
    ::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    rest_of(fd);
  });
  auto to = options();
  to.port = tcp_address_of(plain.get()).port;
  EXPECT_THAT(refusal(to).message, HasSubstr("speaks no TLS."));
  server.join();
}

TEST_F(TlsHandshakeTest, AClientThatFinishedSendingIsAnswered) {
  start();
  RawTls client(port_);
  client.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived_.get_future().get();
  client.finish_sending();
  loop_.on([&] { kept_->reply({.body = "done"}); });
  EXPECT_THAT(client.rest(), HasSubstr("\r\n\r\ndone"));
}

TEST_F(TlsHandshakeTest, ComeWhenThereAreDescriptorsAgain) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer looks at memory through a pipe";
#endif
  start();
  EXPECT_EQ(client().get("/hello").status, 200);
  wait_for_connections(0);
  auto prepared = tcp_socket();
  UniqueFd connected;
  {
    const FewDescriptors few;
    connected = connect_plainly(port_, std::move(prepared));
    EXPECT_THAT(refusal(options()).message, HasSubstr("Too many open files"));
    for (int i = 0; i < 10; ++i) loop_.on([] {});
  }
  RawTls late(std::move(connected));
  late.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(late.rest(), HasSubstr("\r\n\r\n{}"));
}

// What TLS sends for itself is no word of the peer's, and keeps nobody waiting.
TEST_F(TlsHandshakeTest, KeysMayChangeWhileAnAnswerIsWaitedFor) {
  start();
  const auto fd = connect_plainly(port_);
  const auto context = value_of(make_client_context({}));
  const std::unique_ptr<SSL, FreedBy<SSL_free>> ssl(SSL_new(context.get()));
  ASSERT_EQ(SSL_set_fd(ssl.get(), fd.get()), 1);
  ASSERT_EQ(SSL_connect(ssl.get()), 1);
  const std::string_view request = "GET /kept HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_GT(SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())), 0);
  arrived_.get_future().get();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(SSL_key_update(ssl.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(ssl.get()), 1);
  }
  EXPECT_EQ(client().get("/hello").status, 200);
  loop_.on([&] { kept_->reply({.body = "done"}); });
  std::string answer;
  std::array<char, 4096> bytes{};
  SSL_set_mode(ssl.get(), SSL_MODE_AUTO_RETRY);
  for (int count = 0; (count = SSL_read(ssl.get(), bytes.data(), bytes.size())) > 0;)
    answer.append(bytes.data(), static_cast<std::size_t>(count));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\ndone"));
}

TEST_F(TlsHandshakeTest, AServerThatEndsSaysSo) {
  start();
  RawTls client(port_);
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.rest(), HasSubstr("\r\n\r\n{}"));
}

}  // namespace
}  // namespace paceline
