#include "store/sqlite/dir_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "store/sqlite/data_dir.hpp"

namespace paceline {
namespace {

Error cannot_lock(const std::filesystem::path& file) {
  const int reason = errno;
  return {ErrorCode::storage,
          fmt::format("{} can't be locked: {}.", file.string(), std::strerror(reason)),
          std::string(remedy(reason)), Retry::useless};
}

// " (pid 4711)"; empty while the holder has not written it yet.
std::string holder(int file) {
  char digits[16] = {};
  const auto size = ::pread(file, digits, sizeof digits, 0);
  long pid = 0;
  if (size <= 0 || std::from_chars(digits, digits + size, pid).ec != std::errc{}) return {};
  return fmt::format(" (pid {})", pid);
}

bool write_pid(int file) {
  const auto text = fmt::format("{}\n", ::getpid());
  return ::ftruncate(file, 0) == 0 &&
         ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<DirLock> DirLock::take(const std::filesystem::path& dir) {
  if (auto ready = prepare_dir(dir); !ready) return fail(ready.error());
  const auto path = dir / "paceline.lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return fail(cannot_lock(path));
  DirLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(cannot_lock(path));
    return fail(ErrorCode::conflict,
                fmt::format("Paceline already runs on {}{}.", dir.string(), holder(file)),
                "Use that one, end it with 'paceline down', or give this one another directory "
                "with --dir.");
  }
  if (!write_pid(file)) return fail(cannot_lock(path));
  return lock;
}

DirLock::DirLock(DirLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DirLock& DirLock::operator=(DirLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

DirLock::~DirLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace paceline
