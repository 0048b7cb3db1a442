#include "agent/linux/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "agent/linux/files.hpp"
#include "agent/wants.hpp"
#include "files/own.hpp"

namespace paceline::agent {
namespace {

constexpr mode_t kEverybodysDirectory = 01777;
constexpr mode_t kEverybodysFile = 0666;
constexpr std::size_t kOwnerMax = 256;

constexpr mode_t kRootsDirectory = 0755;
constexpr mode_t kLocksDirectory = 0700;
constexpr std::size_t kLocksMax = 16 << 20;
constexpr std::string_view kRootsServer = "root's";

// Nobody but root or this user could put other files in the place of those in it.
bool can_share(const std::string& directory) {
  struct stat info {};
  if (::mkdir(directory.c_str(), 0700) == 0) ::chmod(directory.c_str(), kEverybodysDirectory);
  return ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_uid == 0 || info.st_uid == ::geteuid());
}

// A file in a directory of everybody's may not be opened for making by anyone but its owner, so
// opening comes first.
UniqueFd open_shared(const std::string& path) {
  for (int i = 0; i < 2; ++i) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd || errno != ENOENT) return fd;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) continue;
    ::fchmod(fd.get(), kEverybodysFile);
    return fd;
  }
  return {};
}

UniqueFd open_own(const std::string& directory, mode_t mode, const std::string& name) {
  if (!make_own_directory(directory, mode)) return {};
  const std::string path = directory + "/" + name;
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string file_name(const std::string& uuid) {
  std::string name = uuid;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return name + ".lock";
}

void write_owner(int fd, const std::string& owner) {
  const std::string text = owner.substr(0, kOwnerMax);
  if (::ftruncate(fd, 0) == 0) static_cast<void>(::pwrite(fd, text.data(), text.size(), 0) < 0);
}

std::string read_owner(int fd) {
  std::array<char, kOwnerMax> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string{};
}

}  // namespace

bool lists_lock(std::string_view locks, dev_t device, ino_t inode) {
  const std::string file =
      fmt::format(" {:02x}:{:02x}:{} ", ::gnu_dev_major(device), ::gnu_dev_minor(device), inode);
  return locks.find(file) != std::string_view::npos;
}

DeviceLocks::DeviceLocks(std::string owner, LockDirectories directories)
    : owner_(std::move(owner)), directories_(std::move(directories)) {}

std::vector<UniqueFd> DeviceLocks::open(const std::string& uuid) const {
  std::vector<UniqueFd> files;
  const std::string name = file_name(uuid);
  if (::geteuid() == 0) {
    files.push_back(open_own(directories_.roots, kRootsDirectory, name));
    if (!files.back()) files.clear();
    return files;
  }
  for (const std::string& directory : directories_.shared) {
    if (!can_share(directory)) continue;
    if (UniqueFd fd = open_shared(directory + "/" + name)) files.push_back(std::move(fd));
  }
  if (!files.empty()) return files;
  files.push_back(
      open_own(fmt::format("{}-{}", directories_.own, ::geteuid()), kLocksDirectory, name));
  if (!files.back()) files.clear();
  return files;
}

bool DeviceLocks::root_has(const std::string& uuid) const {
  struct stat info {};
  if (::geteuid() == 0 ||
      ::lstat((directories_.roots + "/" + file_name(uuid)).c_str(), &info) != 0 || info.st_uid != 0)
    return false;
  return lists_lock(read_file("/proc/locks", kLocksMax).value_or(""), info.st_dev, info.st_ino);
}

Result<std::vector<UniqueFd>> DeviceLocks::take(const std::string& uuid) const {
  const auto in_use = [&](std::string_view by) {
    return fail(ErrorCode::unavailable,
                fmt::format("The device {} is in use by another Paceline server ({}).", uuid, by),
                {}, Retry::may_help);
  };
  if (root_has(uuid)) return in_use(kRootsServer);
  std::vector<UniqueFd> files = open(uuid);
  if (files.empty() && find_want(errno) != nullptr)
    return fail(system_error("No lock can be taken for the device " + uuid, errno));
  if (files.empty())
    return fail(ErrorCode::storage, "No lock can be taken for the device " + uuid + ".",
                ::geteuid() == 0 ? "Give root a directory " + directories_.roots + "."
                                 : "Have root make " + directories_.shared.front() +
                                       " for everybody (mode 1777).");
  for (const UniqueFd& fd : files) {
    struct flock lock = whole_file();
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) continue;
    return in_use(read_owner(fd.get()));
  }
  for (const UniqueFd& fd : files) write_owner(fd.get(), owner_);
  return files;
}

std::optional<std::string> DeviceLocks::holder(const std::string& uuid) const {
  if (root_has(uuid)) return std::string(kRootsServer);
  for (const UniqueFd& fd : open(uuid)) {
    struct flock lock = whole_file();
    if (::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
      return read_owner(fd.get());
  }
  return std::nullopt;
}

}  // namespace paceline::agent
