#include "agent/linux/device_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "agent/linux/files.hpp"
#include "agent/wants.hpp"

namespace paceline::agent {
namespace {

constexpr mode_t kEverybodysDirectory = 01777;
constexpr mode_t kEverybodysFile = 0666;
constexpr std::size_t kOwnerMax = 256;

bool can_use(const std::string& directory) {
  struct stat info {};
  if (::mkdir(directory.c_str(), 0700) == 0) ::chmod(directory.c_str(), kEverybodysDirectory);
  return ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A file in a directory of everybody's may not be opened for making by anyone but its owner, so
// opening comes first.
UniqueFd open_lock(const std::string& path) {
  for (int i = 0; i < 2; ++i) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd || errno != ENOENT) return fd;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) continue;
    ::fchmod(fd.get(), kEverybodysFile);
    return fd;
  }
  return {};
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

DeviceLocks::DeviceLocks(std::string owner, std::vector<std::string> directories)
    : owner_(std::move(owner)), directories_(std::move(directories)) {}

std::vector<UniqueFd> DeviceLocks::open(const std::string& uuid) const {
  std::vector<UniqueFd> files;
  for (const std::string& directory : directories_) {
    if (!can_use(directory)) continue;
    if (UniqueFd fd = open_lock(directory + "/" + file_name(uuid))) files.push_back(std::move(fd));
  }
  return files;
}

Result<std::vector<UniqueFd>> DeviceLocks::take(const std::string& uuid) const {
  std::vector<UniqueFd> files = open(uuid);
  if (files.empty() && find_want(errno) != nullptr)
    return fail(system_error("No lock can be taken for the device " + uuid, errno));
  if (files.empty())
    return fail(ErrorCode::storage, "No lock can be taken for the device " + uuid + ".",
                "Make " + directories_.front() + " writable for everybody (mode 1777).");
  for (const UniqueFd& fd : files) {
    struct flock lock = whole_file();
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) continue;
    return fail(ErrorCode::unavailable,
                "The device " + uuid + " is in use by another Paceline server (" +
                    read_owner(fd.get()) + ").",
                {}, Retry::may_help);
  }
  for (const UniqueFd& fd : files) write_owner(fd.get(), owner_);
  return files;
}

std::optional<std::string> DeviceLocks::holder(const std::string& uuid) const {
  for (const UniqueFd& fd : open(uuid)) {
    struct flock lock = whole_file();
    if (::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
      return read_owner(fd.get());
  }
  return std::nullopt;
}

}  // namespace paceline::agent
