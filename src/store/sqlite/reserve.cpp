#include "store/sqlite/reserve.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace paceline {
namespace {

bool has_room(const std::filesystem::path& directory, std::uint64_t bytes) {
  struct statvfs disk {};
  return ::statvfs(directory.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize >= bytes;
}

}  // namespace

void Reserve::take() {
  if (taken_ || bytes_ == 0) return;
  std::error_code ignored;
  const bool there = std::filesystem::file_size(file_, ignored) == bytes_;
  if (!there && !has_room(file_.parent_path(), 2 * bytes_)) return;
  const int fd = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  taken_ = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes_)) == 0;
  if (!taken_) static_cast<void>(::ftruncate(fd, 0) == 0);
  ::close(fd);
}

bool Reserve::give_up() {
  taken_ = false;
  std::error_code missing;
  const auto size = std::filesystem::file_size(file_, missing);
  return !missing && size > 0 && ::truncate(file_.c_str(), 0) == 0;
}

}  // namespace paceline
