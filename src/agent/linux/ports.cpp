#include "agent/linux/ports.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "agent/linux/files.hpp"
#include "base/digest.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint32_t kFirstPort = 20'000;
constexpr std::uint32_t kRoomMin = 2'000;

UniqueFd hold_block(std::uint32_t first_port) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("paceline/ports/{}", first_port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
  return fd;
}

template <class Address>
bool can_bind(int family, const Address& address) {
  const UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return true;
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != EADDRINUSE;
}

bool is_free(std::uint32_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  return can_bind(AF_INET, v4) && can_bind(AF_INET6, v6);
}

// Every block of the run, or none.
std::vector<UniqueFd> hold_run(std::uint32_t first, std::uint32_t count) {
  std::vector<UniqueFd> locks;
  for (std::uint32_t at = 0; at < count; at += kPortBlock) {
    UniqueFd lock = hold_block(first + at);
    if (!lock) return {};
    locks.push_back(std::move(lock));
  }
  for (std::uint32_t at = 0; at < count; ++at)
    if (!is_free(first + at)) return {};
  return locks;
}

}  // namespace

PortRange usable_ports(std::string_view ephemeral) {
  const std::string text(ephemeral);
  char* end = nullptr;
  const auto low = static_cast<std::uint32_t>(std::strtoul(text.c_str(), &end, 10));
  const auto high = static_cast<std::uint32_t>(std::strtoul(end, nullptr, 10));
  if (low >= kFirstPort + kRoomMin) return {kFirstPort, std::min(low, 65'536U)};
  if (low > 0 && high + kRoomMin < 65'536) return {std::max(high + 1, kFirstPort), 65'536};
  return {kFirstPort, 65'536};
}

Result<Ports> take_ports(JobId job, Generation generation, std::uint32_t count) {
  const PortRange range =
      usable_ports(read_file("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  const std::uint32_t blocks = (range.end - range.first) / kPortBlock;
  const std::uint32_t wanted = (count + kPortBlock - 1) / kPortBlock;
  if (wanted == 0 || wanted > blocks)
    return fail(ErrorCode::unavailable, fmt::format("A gang can't have {} ports.", count));
  const std::uint64_t start =
      Digest().add(std::uint64_t{job.value}).add(std::uint64_t{generation.value}).value();
  const std::uint32_t places = blocks - wanted + 1;
  for (std::uint32_t i = 0; i < places; ++i) {
    const auto place = static_cast<std::uint32_t>((start + i) % places);
    const std::uint32_t first = range.first + place * kPortBlock;
    if (auto locks = hold_run(first, count); !locks.empty()) return Ports{first, std::move(locks)};
  }
  return fail(
      ErrorCode::unavailable,
      fmt::format("No {} free ports in a row between {} and {}.", count, range.first, range.end),
      "Wait until other jobs of this machine have ended.", Retry::may_help);
}

Result<std::vector<UniqueFd>> duplicate(const std::vector<UniqueFd>& fds) {
  std::vector<UniqueFd> copies;
  copies.reserve(fds.size());
  for (const UniqueFd& fd : fds) {
    copies.emplace_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!copies.back()) return fail(system_error("The gang's ports can't be handed on", errno));
  }
  return copies;
}

}  // namespace paceline::agent
