#include "app/remote_door.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <utility>

namespace paceline {
namespace {

constexpr auto kLookEvery = std::chrono::hours{1};
constexpr std::chrono::milliseconds kProofWithin{10'000};
constexpr std::size_t kHeaderBytesMax = 16 << 10;

// What people on other machines type.
std::string told(TcpAddress at) {
  const bool everywhere = at.host == "0.0.0.0" || at.host == "::";
  if (everywhere) at.host = host_name();
  return to_string(at);
}

}  // namespace

RemoteDoor::RemoteDoor(boost::asio::io_context& io, Clock& clock, Authority authority,
                       TokenBook tokens, UniqueFd socket)
    : io_(io),
      clock_(clock),
      authority_(std::move(authority)),
      tokens_(std::move(tokens)),
      socket_(std::move(socket)),
      address_(told(tcp_address_of(socket_.get()))),
      look_(io) {}

Result<std::unique_ptr<RemoteDoor>> RemoteDoor::open(boost::asio::io_context& io, Clock& clock,
                                                     const Options& options) {
  auto authority = Authority::open(options.directory / "trust", clock.wall());
  if (!authority) return fail(std::move(authority.error()));
  auto tokens = TokenBook::open(options.directory / "tokens");
  if (!tokens) return fail(std::move(tokens.error()));
  auto socket = listen_tcp(options.at);
  if (!socket) return fail(std::move(socket.error()));
  std::unique_ptr<RemoteDoor> door(
      new RemoteDoor(io, clock, std::move(*authority), std::move(*tokens), std::move(*socket)));
  if (auto ok = door->take_certificate(); !ok) return fail(std::move(ok.error()));
  return door;
}

RemoteAccess RemoteDoor::access() {
  return {.tokens = &tokens_, .authority = authority_.fingerprint(), .address = address_};
}

Result<void> RemoteDoor::serve(Router router, ServerOptions options) {
  options.when_full = WhenFull::replace;
  options.proof_ms = kProofWithin;
  options.header_bytes_max = kHeaderBytesMax;
  server_.emplace(io_, listen_tls(io_, std::move(socket_), certificates_), std::move(router),
                  std::move(options));
  watch_certificate();
  return server_->start();
}

void RemoteDoor::stop(std::chrono::milliseconds patience, std::function<void()> stopped) {
  look_.cancel();
  server_->stop(patience, std::move(stopped));
}

// Its own, from the authority: new at every start, and when two thirds of its time are over.
Result<void> RemoteDoor::take_certificate() {
  const auto issued = authority_.issue_server(clock_.wall());
  if (!issued) return fail(issued.error());
  renew_at_ = issued->validity.renew_at();
  if (certificates_) return certificates_->renew(issued->credentials);
  auto made = TlsCertificates::make(issued->credentials, authority_.certificate());
  if (!made) return fail(std::move(made.error()));
  certificates_ = std::move(*made);
  return {};
}

void RemoteDoor::watch_certificate() {
  look_.expires_after(kLookEvery);
  look_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (clock_.wall() >= renew_at_) {
      if (const auto taken = take_certificate(); !taken)
        spdlog::error("The server's certificate can't be renewed: {}", taken.error().message);
    }
    watch_certificate();
  });
}

}  // namespace paceline
