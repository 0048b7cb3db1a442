#include "http/tcp_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/number.hpp"

namespace paceline {
namespace {

constexpr int kTcpBacklog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Asks no name server.
Addresses resolve(const TcpAddress& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto port = std::to_string(address.port);
  if (::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

ErrorCode code_of(int reason) {
  if (reason == EADDRINUSE) return ErrorCode::conflict;
  if (reason == EACCES || reason == EPERM) return ErrorCode::forbidden;
  if (reason == EADDRNOTAVAIL) return ErrorCode::invalid;
  return ErrorCode::storage;
}

tl::unexpected<Error> cannot_listen(const TcpAddress& address, int reason) {
  return fail(code_of(reason),
              fmt::format("Cannot listen at {}: {}.", to_string(address), std::strerror(reason)),
              "Choose another port, or an address of this machine.");
}

// An empty host: the kernel knows of none.
TcpAddress address_by(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_storage there{};
  socklen_t size = sizeof there;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const address = reinterpret_cast<sockaddr*>(&there);
  if (ask(socket, address, &size) != 0 ||
      ::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {.host = {}};
  return {host.data(), parse_number<std::uint16_t>(port.data()).value_or(0)};
}

}  // namespace

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  TcpAddress address;
  const auto colon = text.rfind(':');
  auto host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (colon != std::string_view::npos) address.host = host;
  const bool is_v6 = address.host.find(':') != std::string::npos;
  if (port && bracketed == is_v6 && resolve(address) != nullptr) {
    address.port = *port;
    return address;
  }
  return fail(ErrorCode::invalid, fmt::format("'{}' is not an address to listen at.", text),
              "Write a port, or ADDRESS:PORT, like 9464, 0.0.0.0:9464 or [::1]:9464.");
}

std::string to_string(const TcpAddress& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", address.host, address.port)
               : fmt::format("{}:{}", address.host, address.port);
}

int bind_tcp(int socket, const TcpAddress& address) {
  const auto found = resolve(address);
  if (!found) return EADDRNOTAVAIL;
  return ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
}

Result<UniqueFd> listen_tcp(const TcpAddress& address) {
  const auto found = resolve(address);
  if (!found) return cannot_listen(address, EADDRNOTAVAIL);
  UniqueFd socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  // A port whose last connections still linger may be taken again.
  const int yes = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), kTcpBacklog) != 0)
    return cannot_listen(address, errno);
  return socket;
}

TcpAddress tcp_address_of(int socket) { return address_by(&::getsockname, socket); }

TcpAddress tcp_peer_of(int socket) {
  constexpr std::string_view kOfIpv4 = "::ffff:";
  auto peer = address_by(&::getpeername, socket);
  const bool mapped = peer.host.starts_with(kOfIpv4) && peer.host.find('.') != std::string::npos;
  if (mapped) peer.host.erase(0, kOfIpv4.size());
  return peer;
}

int family_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 ? own.ss_family : -1;
}

void send_without_delay(int socket) {
  const int yes = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "localhost";
}

}  // namespace paceline
