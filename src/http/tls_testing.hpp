// For tests: a server over TLS on a port of its own, its authority, and clients of it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "http/client.hpp"
#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/tcp_socket.hpp"
#include "http/testing.hpp"
#include "http/tls_dialer.hpp"
#include "http/tls_listener.hpp"
#include "trust/authority.hpp"
#include "trust/identity.hpp"
#include "trust/testing.hpp"

namespace paceline {

class TlsHttpTest : public ::testing::Test {
 protected:
  static WallTime now() {
    return WallTime{
        std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
  }
  static constexpr Duration kYear = std::chrono::hours{365 * 24};

  void start(ServerOptions options = {}, TlsListenerOptions tls = {}) {
    start_with(authority_.issue_server(now())->credentials, std::move(options), tls);
  }
  void start_with(const Credentials& own, ServerOptions options = {}, TlsListenerOptions tls = {},
                  const char* host = "127.0.0.1") {
    auto socket = value_of(listen_tcp({host, 0}));
    port_ = tcp_address_of(socket.get()).port;
    certificates_ = value_of(TlsCertificates::make(own, authority_.certificate()));
    Router router = routes();
    loop_.on([&] {
      server_.emplace(loop_.io(), listen_tls(loop_.io(), std::move(socket), certificates_, tls),
                      std::move(router), std::move(options));
      ASSERT_TRUE(server_->start().has_value());
    });
  }
  void TearDown() override {
    loop_.on([&] {
      kept_ = nullptr;
      events_ = nullptr;
      server_.reset();
    });
  }

  virtual Router routes() {
    Router router;
    add_plain_routes(router);
    router.add("GET", "/who", [](const auto& exchange) {
      const auto& peer = exchange->request().peer;
      exchange->reply({.body = fmt::format("{} {} {}", peer.origin, peer.account.has_value(),
                                           peer.certificate ? to_uri(*peer.certificate) : "-")});
    });
    router.add("GET", "/kept", [this](const auto& exchange) {
      exchange->on_gone([this] { gone_.set_value(); });
      kept_ = exchange;
      arrived_.set_value();
    });
    router.add("GET", "/big", [](const auto& exchange) {
      exchange->reply({.body = std::string(kBigBytes, 'x')});
    });
    router.add("GET", "/events", [this](const auto& exchange) {
      events_ = exchange->stream();
      events_->send({"tick", "1", "one"});
    });
    router.add("GET", "/attach", [this](const auto& exchange) {
      auto fd = connect_unix(folder_.path() / "terminal.sock", Connecting::non_blocking);
      if (!fd) return exchange->refuse(fd.error());
      exchange->tunnel("paceline-pty", *serve_socket(loop_.io(), std::move(*fd)));
    });
    return router;
  }

  [[nodiscard]] TlsDialerOptions options(const std::string& host = "127.0.0.1") const {
    return {.host = host, .port = port_, .authority = authority_.certificate()};
  }
  static std::unique_ptr<ClientStream> dial(TlsDialerOptions options) {
    return value_of(TlsDialer(std::move(options)).dial());
  }
  [[nodiscard]] Client client() const { return Client(dial(options())); }
  [[nodiscard]] static Error refusal(TlsDialerOptions options) {
    const auto stream = TlsDialer(std::move(options)).dial();
    EXPECT_FALSE(stream.has_value());
    return stream ? Error{} : stream.error();
  }
  [[nodiscard]] ServerAddress address() const { return {std::make_shared<TlsDialer>(options())}; }

  // A node's key and certificate, issued at any time.
  [[nodiscard]] Credentials node_of(const Authority& authority, WallTime issued) const {
    const auto dir = folder_.path() / fmt::format("node-{}", nodes_++);
    const auto request = value_of(IdentityDir(dir).request());
    return {content_of(dir / "asking.pem"),
            value_of(authority.issue_node({request, "gpu-1", 3}, issued))};
  }

  std::size_t connections() {
    return loop_.on([&] { return server_->connections(); });
  }
  // Comes true without sleeping: every question runs the loop once more.
  void wait_for_connections(std::size_t count) {
    while (connections() != count) std::this_thread::yield();
  }

  static constexpr std::size_t kBigBytes = 8 << 20;

  TempFolder folder_;
  Authority authority_ = authority_in(folder_.path() / "authority", now() - 3 * kYear);
  mutable int nodes_ = 0;
  std::shared_ptr<TlsCertificates> certificates_;
  std::uint16_t port_ = 0;
  std::promise<void> gone_, arrived_;
  LoopThread loop_;
  std::shared_ptr<Exchange> kept_;
  std::shared_ptr<HttpStream> events_;
  std::optional<HttpServer> server_;
};

}  // namespace paceline
