#include "app/agent_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/number.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPassable = 0711;  // users reach their logs

Error cannot_lock(const fs::path& file) {
  const int reason = errno;
  return {ErrorCode::storage,
          fmt::format("'{}' can't be locked: {}.", file.string(), std::strerror(reason)),
          std::string(remedy(reason)), Retry::useless};
}

// " (pid 4711)"; empty while the holder has not written it yet.
std::string holder(int file) {
  std::array<char, 16> digits{};
  const auto size = ::pread(file, digits.data(), digits.size(), 0);
  const std::string_view text(digits.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const auto pid = parse_number<pid_t>(text.substr(0, text.find('\n')));
  return pid ? fmt::format(" (pid {})", *pid) : std::string();
}

bool write_pid(int file) {
  const auto text = fmt::format("{}\n", ::getpid());
  return ::ftruncate(file, 0) == 0 &&
         ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

Result<void> check_no_server(const fs::path& dir) {
  std::error_code ec;
  if (!fs::exists(dir / "paceline.db", ec)) return {};
  return fail(ErrorCode::conflict, fmt::format("'{}' is the directory of a server.", dir.string()),
              "Name another one for the agent: --dir DIR.");
}

}  // namespace

Result<AgentLock> AgentLock::take(const fs::path& dir) {
  if (auto made = make_own_directory(dir, kPassable); !made) return fail(std::move(made.error()));
  if (auto free = check_no_server(dir); !free) return fail(std::move(free.error()));
  const auto path = dir / "agent.lock";
  if (auto ours = check_own_file(path, S_IFREG); !ours) return fail(std::move(ours.error()));
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(cannot_lock(path));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(cannot_lock(path));
    return fail(ErrorCode::conflict,
                fmt::format("An agent already runs on {}{}.", dir.string(), holder(file.get())),
                "Let that one serve, or end it first; a second agent needs its own --dir.");
  }
  if (!write_pid(file.get())) return fail(cannot_lock(path));
  return AgentLock(std::move(file));
}

}  // namespace paceline
