#include "agent/linux/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "agent/wants.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

std::optional<std::string> read_whole(UniqueFd fd, std::size_t max) {
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[16384];
  while (text.size() < max) {
    const ssize_t n = ::read(fd.get(), buffer, std::min(sizeof buffer, max - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

bool make_directory(const std::string& path, mode_t mode) {
  return ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST;
}

std::optional<FileId> id_of(int fd, const char* path, int flags) {
  struct statx info {};
  if (::statx(fd, path, flags | AT_STATX_DONT_SYNC, STATX_INO, &info) != 0) return std::nullopt;
  return FileId{std::uint64_t{info.stx_dev_major} << 32 | info.stx_dev_minor, info.stx_ino};
}

}  // namespace

Error system_error(std::string_view what, int error_number) {
  const bool denied = error_number == EACCES || error_number == EPERM;
  std::string message(what);
  message.append(": ").append(std::strerror(error_number));
  const Want* want = find_want(error_number);
  if (want != nullptr) message.append("; ").append(want->remedy);
  return Error{denied ? ErrorCode::forbidden : ErrorCode::storage,
               message.append("."),
               {},
               want != nullptr ? Retry::may_help : Retry::useless};
}

std::optional<std::string> read_file(int directory, const char* name, std::size_t max) {
  return read_whole(UniqueFd(::openat(directory, name, O_RDONLY | O_CLOEXEC)), max);
}

std::optional<std::string> read_file(const std::string& path, std::size_t max) {
  return read_file(AT_FDCWD, path.c_str(), max);
}

bool write_existing(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Result<void> replace_file(int directory, const char* name, std::string_view text) {
  const std::string fresh = std::string(name) + ".new";
  const UniqueFd fd(
      ::openat(directory, fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || !write_all(fd.get(), text) ||
      ::renameat(directory, fresh.c_str(), directory, name) != 0) {
    const int reason = errno;
    ::unlinkat(directory, fresh.c_str(), 0);
    return fail(system_error(std::string("Can't write the file '") + name + "'", reason));
  }
  return {};
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    make_directory(path.substr(0, slash), mode);
  if (!make_directory(path, mode))
    return fail(system_error("Can't make the directory '" + path + "'", errno));
  return {};
}

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(system_error("Can't open the directory '" + path + "'", errno));
  return fd;
}

// Some file systems count no inodes.
Result<Disk> look_at_disk(const std::string& directory) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0)
    return fail(system_error("'" + directory + "' can't be looked at", errno));
  const std::uint64_t inodes =
      disk.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : disk.f_favail;
  return Disk{{disk.f_bavail * disk.f_frsize, inodes}, (disk.f_flag & ST_RDONLY) != 0};
}

Result<void> look_for_room(const std::string& directory, DiskSpace least) {
  auto disk = look_at_disk(directory);
  if (!disk) return fail(std::move(disk.error()));
  if (disk->left.covers(least)) return {};
  return fail(system_error("Little room is left in '" + directory + "'", ENOSPC));
}

std::optional<FileId> file_id(const std::string& path) { return id_of(AT_FDCWD, path.c_str(), 0); }
std::optional<FileId> file_id(int fd) { return id_of(fd, "", AT_EMPTY_PATH); }

Result<std::vector<std::string>> read_directory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  errno = dir ? 0 : errno;
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return fail(system_error("'" + path + "' can't be read", errno));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> list_directory(const std::string& path) {
  return read_directory(path).value_or(std::vector<std::string>{});
}

}  // namespace paceline::agent
