#include "store/sqlite/dir_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "files/own.hpp"
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

Result<int> open_own(const std::filesystem::path& path) {
  if (auto ours = check_own_file(path, S_IFREG); !ours) return fail(ours.error());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return fail(cannot_lock(path));
  return file;
}

// Far behind every byte of the file, those that SQLite locks among them. Unlike SQLite's own, this
// kind of lock belongs to the descriptor.
bool lock_a_byte(int database) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = off_t{1} << 60;
  lock.l_len = 1;
  return ::fcntl(database, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

Result<DirLock> DirLock::take(const std::filesystem::path& dir) {
  if (auto ready = prepare_dir(dir); !ready) return fail(ready.error());
  const auto path = dir / "paceline.lock", database = dir / "paceline.db";
  DirLock lock;
  const auto file = open_own(path);
  if (!file) return fail(file.error());
  lock.file_ = *file;
  const bool alone = ::flock(lock.file_, LOCK_EX | LOCK_NB) == 0;
  if (!alone && errno != EWOULDBLOCK) return fail(cannot_lock(path));
  const auto held = alone ? open_own(database) : Result<int>(-1);
  if (!held) return fail(held.error());
  lock.database_ = *held;
  const bool locked = alone && lock_a_byte(lock.database_);
  if (alone && !locked && errno != EAGAIN && errno != EACCES) return fail(cannot_lock(database));
  if (!locked) {
    return fail(ErrorCode::conflict,
                fmt::format("Paceline already runs on {}{}.", dir.string(), holder(lock.file_)),
                "Use that one, or end it with 'paceline down'.");
  }
  if (!write_pid(lock.file_)) return fail(cannot_lock(path));
  return lock;
}

DirLock::DirLock(DirLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), database_(std::exchange(other.database_, -1)) {}

DirLock& DirLock::operator=(DirLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(database_, other.database_);
  return *this;
}

DirLock::~DirLock() {
  if (database_ >= 0) ::close(database_);
  if (file_ >= 0) ::close(file_);
}

}  // namespace paceline
