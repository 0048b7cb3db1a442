#include "agent/linux/ports.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "agent/linux/files.hpp"
#include "base/number.hpp"
#include "files/own.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint32_t kFirstPort = 20'000;
constexpr std::uint32_t kPortsMin = 2'000;
constexpr std::uint32_t kPortsEnd = 65'536;

constexpr mode_t kPortsDirectory = 0700;

// Others hold the lock of a block that they find taken for an instant only.
constexpr int kLockTries = 100;
constexpr int kGangTries = 20;
constexpr auto kLockWait = std::chrono::milliseconds{5};

Result<std::string> own_directory(const std::vector<std::string>& directories) {
  Error refusal{ErrorCode::storage, "There is no place for the locks of ports.", {}, {}};
  for (const std::string& directory : directories) {
    auto made = make_own_directory(directory, kPortsDirectory);
    if (made) return directory;
    refusal = std::move(made.error());
  }
  refusal.retry = Retry::may_help;
  return fail(std::move(refusal));
}

std::string lock_path(const std::string& directory, std::uint32_t first_port) {
  return fmt::format("{}/{}", directory, first_port);
}

// Empty while somebody else holds the block.
Result<UniqueFd> hold_block(const std::string& directory, std::uint32_t first_port) {
  const std::string path = lock_path(directory, first_port);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd && errno == EWOULDBLOCK) return UniqueFd{};
  Error error = system_error("Ports can't be held for the job", errno);
  error.retry = Retry::may_help;
  return fail(std::move(error));
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

// One that can't be told finds another port after a restart.
void note_keeper(const UniqueFd& lock, std::string_view keeper) {
  if (::ftruncate(lock.get(), 0) == 0 && !keeper.empty()) write_all(lock.get(), keeper);
}

// Every block of the run, or none.
Result<std::vector<UniqueFd>> hold_run(const std::string& directory, std::uint32_t first,
                                       std::uint32_t count, std::string_view keeper) {
  std::vector<UniqueFd> locks;
  for (std::uint32_t at = 0; at < count; at += kPortBlock) {
    auto lock = hold_block(directory, first + at);
    if (!lock) return fail(std::move(lock.error()));
    if (!*lock) return std::vector<UniqueFd>{};
    locks.push_back(std::move(*lock));
  }
  for (std::uint32_t at = 0; at < count; ++at)
    if (!is_free(first + at)) return std::vector<UniqueFd>{};
  for (const UniqueFd& lock : locks) note_keeper(lock, keeper);
  return locks;
}

// Every block of the run, beside agents that hold it for the same gang; empty: none does.
std::vector<UniqueFd> share_run(const std::string& directory, std::uint32_t first,
                                std::uint32_t count, std::string_view gang) {
  std::vector<UniqueFd> locks;
  for (std::uint32_t at = 0; at < count; at += kPortBlock) {
    const std::string path = lock_path(directory, first + at);
    if (read_file(path) != gang) return {};
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 || read_file(path) != gang) return {};
    locks.push_back(std::move(fd));
  }
  return locks;
}

// A lock that others may have, too, is not taken in one step: somebody may come between.
bool open_to_others(const std::vector<UniqueFd>& locks) {
  return std::ranges::all_of(
      locks, [](const UniqueFd& lock) { return ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0; });
}

// For a gang; empty: somebody else has it. Who began at the same time says a moment later for whom.
Result<std::vector<UniqueFd>> hold_for(const std::string& directory, std::uint32_t first,
                                       std::uint32_t count, std::string_view gang) {
  for (int i = 0; i < kGangTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kLockWait);
    if (auto shared = share_run(directory, first, count, gang); !shared.empty()) return shared;
    auto locks = hold_run(directory, first, count, gang);
    if (!locks || (!locks->empty() && open_to_others(*locks))) return locks;
  }
  return std::vector<UniqueFd>{};
}

}  // namespace

PortRange usable_ports(std::string_view ephemeral) {
  constexpr std::string_view kBlanks = " \t\n";
  const std::size_t gap = std::min(ephemeral.find_first_of(kBlanks), ephemeral.size());
  const std::size_t second = std::min(ephemeral.find_first_not_of(kBlanks, gap), ephemeral.size());
  const std::size_t end = std::min(ephemeral.find_first_of(kBlanks, second), ephemeral.size());
  const auto low = parse_number<std::uint16_t>(ephemeral.substr(0, gap));
  const auto high = parse_number<std::uint16_t>(ephemeral.substr(second, end - second));
  if (!low || !high || *low > *high) return {kFirstPort, kPortsEnd};
  if (*low >= kFirstPort + kPortsMin) return {kFirstPort, *low};
  if (*high + kPortsMin < kPortsEnd) return {std::max(*high + 1U, kFirstPort), kPortsEnd};
  return {kFirstPort, kPortsEnd};
}

PortRange usable_ports() {
  return usable_ports(read_file("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
}

std::vector<std::string> port_lock_directories(const std::string& server_directory) {
  const std::string last = server_directory + "/agent/ports";
  const uid_t user = ::geteuid();
  if (user == 0) return {"/run/paceline/ports", last};
  return {fmt::format("/run/user/{}/paceline-ports", user),
          fmt::format("/tmp/paceline-ports-{}", user), last};
}

Result<Ports> PortBlocks::take_from(std::uint32_t first, std::uint32_t count,
                                    std::string_view keeper) const {
  const PortRange range = usable_ports();
  const PortRuns runs = port_runs(range, count);
  if (runs.count == 0)
    return fail(ErrorCode::unavailable, fmt::format("A gang can't have {} ports.", count));
  const auto directory = own_directory(directories_);
  if (!directory) return fail(directory.error());
  const std::uint32_t start = first > runs.first ? (first - runs.first) / kPortBlock : 0;
  for (std::uint32_t i = 0; i < runs.count; ++i) {
    const std::uint32_t at = runs.first + (start + i) % runs.count * kPortBlock;
    auto locks = hold_run(*directory, at, count, keeper);
    if (!locks) return fail(std::move(locks.error()));
    if (!locks->empty()) return Ports{at, std::move(*locks)};
  }
  return fail(ErrorCode::unavailable,
              fmt::format("This machine has no {} free ports in a row between {} and {}; see "
                          "which programs use them with 'ss -tlnp'.",
                          count, range.first, range.end),
              "Wait until other jobs of this machine have ended.", Retry::may_help);
}

Result<Ports> PortBlocks::take_at(std::uint32_t first, std::uint32_t count,
                                  std::string_view gang) const {
  if (const auto directory = own_directory(directories_); directory && !gang.empty()) {
    auto locks = hold_for(*directory, first, count, gang);
    if (!locks) return fail(std::move(locks.error()));
    if (!locks->empty()) return Ports{first, std::move(*locks)};
  }
  auto taken = take_from(first, count);
  if (!taken || (gang.empty() && taken->first == first)) return taken;
  return fail(
      ErrorCode::conflict,
      fmt::format("One of the ports {} to {} is taken on this machine.", first, first + count - 1),
      "The gang gets others at its next start.", Retry::may_help);
}

std::optional<Ports> PortBlocks::take_again(std::uint32_t port, std::string_view keeper) const {
  const auto directory = own_directory(directories_);
  if (!directory) return std::nullopt;
  const std::string path = lock_path(*directory, port);
  for (int i = 0; i < kLockTries && read_file(path) == keeper; ++i) {
    auto lock = hold_block(*directory, port);
    if (!lock) return std::nullopt;
    if (!*lock) {
      std::this_thread::sleep_for(kLockWait);
      continue;
    }
    if (read_file(path) != keeper) return std::nullopt;
    Ports again{port, {}};
    again.locks.push_back(std::move(*lock));
    return again;
  }
  return std::nullopt;
}

Result<std::vector<UniqueFd>> duplicate(const std::vector<UniqueFd>& fds) {
  std::vector<UniqueFd> copies;
  copies.reserve(fds.size());
  for (const UniqueFd& fd : fds) {
    copies.emplace_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!copies.back()) return fail(system_error("The worker's ports can't be handed on", errno));
  }
  return copies;
}

}  // namespace paceline::agent
