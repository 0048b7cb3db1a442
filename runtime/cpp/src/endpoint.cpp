#include "endpoint.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>

#include "proof.hpp"

namespace paceline::runtime {
namespace {

constexpr int kKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int kBacklog = 1024;
constexpr std::size_t kTextMax = 256;

tl::unexpected<Failure> cannot(const std::string& what) {
  return fail(PACELINE_SYSTEM, -1, what + ": " + std::strerror(errno));
}

// Of the machine's boot and the network namespace, in which names of sockets are known.
std::string own_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat info {};
  if (::stat("/proc/self/ns/net", &info) == 0) boot += "-" + std::to_string(info.st_ino);
  return boot;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address local_address(std::string_view name) {
  Address address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  un.sun_family = AF_UNIX;
  const auto count = std::min(name.size(), sizeof un.sun_path - 1);
  name.copy(un.sun_path + 1, count);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return address;
}

std::optional<Address> remote_address(const std::string& text, std::uint16_t port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size = sizeof v4;
    return address;
  }
  address = {};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  address.size = sizeof v6;
  return address;
}

void send_at_once(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Of this process's user, or root's? Whoever else has an account here is a stranger.
bool is_own(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

Descriptor open_socket(Address& address) {
  return Descriptor(::socket(address.storage.ss_family, kKind, 0));
}

Outcome<Descriptor> listen_at(Address& address, const std::string& what) {
  Descriptor fd = open_socket(address);
  const int yes = 1;  // the last generation's connections may linger at the port
  if (fd && address.storage.ss_family != AF_UNIX)
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!fd || ::bind(fd.get(), address.get(), address.size) != 0 ||
      ::listen(fd.get(), kBacklog) != 0 ||
      ::getsockname(fd.get(), address.get(), &(address.size = sizeof address.storage)) != 0)
    return cannot(what);
  return fd;
}

std::optional<Address> address_of(const Venue& venue) {
  return venue.name.empty() ? remote_address(venue.address, venue.port) : local_address(venue.name);
}

Descriptor dial_at(Address& address) {
  Descriptor fd = open_socket(address);
  if (!fd) return fd;
  const bool is_near = address.storage.ss_family == AF_UNIX;
  if (!is_near) send_at_once(fd.get());
  if (::connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS) return {};
  errno = EACCES;
  if (is_near && !is_own(fd.get())) return {};
  return fd;
}

}  // namespace

std::string Venue::text() const {
  const bool is_v6 = address.find(':') != address.npos;
  if (!name.empty()) return name;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

std::string Endpoint::text() const {
  return host + "," + socket + "," + address + "," + std::to_string(port);
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.size() > kTextMax) return std::nullopt;
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto comma = text.find(',');
    if (comma == text.npos) return std::nullopt;
    parts[i] = text.substr(0, comma);
    text.remove_prefix(comma + 1);
  }
  parts[3] = text;
  Endpoint endpoint{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]), 0};
  const auto* const end = parts[3].data() + parts[3].size();
  const auto read = std::from_chars(parts[3].data(), end, endpoint.port);
  const bool named = !endpoint.host.empty() && !endpoint.socket.empty();
  if (read.ec != std::errc() || read.ptr != end || !named) return std::nullopt;
  if (!endpoint.address.empty() && !remote_address(endpoint.address, endpoint.port))
    return std::nullopt;
  return endpoint;
}

Outcome<Listener> Listener::open(const std::string& address) {
  Listener listener;
  listener.endpoint.host = own_host();
  std::array<std::byte, 16> name;
  if (!fill_with_chance(name)) return cannot("The system gives no random bytes");
  listener.endpoint.socket = "paceline-" + hex(name);
  auto local = local_address(listener.endpoint.socket);
  auto here = listen_at(local, "No unix socket can be made");
  if (!here) return fail(std::move(here.error()));
  listener.local = std::move(*here);
  if (address.empty()) return listener;
  auto remote = remote_address(address, 0);
  if (!remote)
    return fail(PACELINE_BAD_ARGUMENT, -1,
                "'" + address + "' is no IPv4 or IPv6 address of this host");
  auto there = listen_at(*remote, "Nothing can listen at " + address);
  if (!there) return fail(std::move(there.error()));
  listener.remote = std::move(*there);
  listener.endpoint.address = address;
  const bool is_v4 = remote->storage.ss_family == AF_INET;
  listener.endpoint.port =
      ntohs(is_v4 ? reinterpret_cast<const sockaddr_in&>(remote->storage).sin_port
                  : reinterpret_cast<const sockaddr_in6&>(remote->storage).sin6_port);
  return listener;
}

Outcome<Listener> Listener::open(const Venue& venue) {
  auto address = address_of(venue);
  if (!address)
    return fail(PACELINE_BAD_ARGUMENT, -1,
                "'" + venue.address + "' is no IPv4 or IPv6 address where ranks can meet.");
  auto fd = listen_at(*address, "Rank 0 can't listen at " + venue.text() + ", where ranks meet");
  if (!fd) return fail(std::move(fd.error()));
  Listener listener;
  (venue.name.empty() ? listener.remote : listener.local) = std::move(*fd);
  return listener;
}

Descriptor dial(const Endpoint& here, const Endpoint& there) {
  errno = EADDRNOTAVAIL;
  auto address = here.host == there.host ? local_address(there.socket)
                                         : remote_address(there.address, there.port);
  return address ? dial_at(*address) : Descriptor();
}

Descriptor dial(const Venue& venue) {
  errno = EADDRNOTAVAIL;
  auto address = address_of(venue);
  return address ? dial_at(*address) : Descriptor();
}

bool is_connected_to_itself(int fd) {
  Address here, there;
  here.size = there.size = sizeof(sockaddr_storage);
  return ::getsockname(fd, here.get(), &here.size) == 0 &&
         ::getpeername(fd, there.get(), &there.size) == 0 && here.storage.ss_family != AF_UNIX &&
         here.size == there.size && std::memcmp(&here.storage, &there.storage, here.size) == 0;
}

Descriptor Listener::accept_local() const {
  for (;;) {
    Descriptor fd(::accept4(local.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd || is_own(fd.get())) return fd;
  }
}

Descriptor Listener::accept_remote() const {
  Descriptor fd(::accept4(remote.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) send_at_once(fd.get());
  return fd;
}

}  // namespace paceline::runtime
