#include "store/sqlite/data_dir.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "files/own.hpp"

namespace paceline {
namespace {

constexpr std::uint64_t kFuse = 0x65735546;

// linux/magic.h does not know all of them.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 13> kNetworkMagics = {{
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x19830326, "BeeGFS"},
    {0xAAD7AAEA, "PanFS"},
    {0x564C, "NCP"},
}};

constexpr std::array<std::string_view, 16> kNetworkFuse = {
    "sshfs",  "glusterfs", "s3fs",    "goofys", "gcsfuse",  "rclone",    "ceph-fuse", "cvmfs2",
    "davfs2", "curlftpfs", "juicefs", "mfs",    "lizardfs", "seaweedfs", "blobfuse2", "smbnetfs",
};

Error cannot_use(const std::filesystem::path& dir, int reason) {
  return {ErrorCode::storage,
          fmt::format("The directory {} can't be used: {}.", dir.string(), std::strerror(reason)),
          std::string(remedy(reason)), Retry::useless};
}

// The type of the mount with this device, from /proc/self/mountinfo: "36 35 98:0 / /mnt rw - ext4
// /dev/sda1 rw".
std::string mount_type(dev_t device) {
  const auto wanted = fmt::format("{}:{}", major(device), minor(device));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number, type;
    words >> id >> parent >> number;
    const auto dash = line.find(" - ");
    if (number != wanted || dash == std::string::npos) continue;
    std::istringstream(line.substr(dash + 3)) >> type;
    return type;
  }
  return {};
}

Result<FileSystem> file_system_of(const std::filesystem::path& dir) {
  struct statfs system {};
  struct stat file {};
  if (::statfs(dir.c_str(), &system) != 0 || ::stat(dir.c_str(), &file) != 0)
    return fail(cannot_use(dir, errno));
  const auto magic = static_cast<std::uint64_t>(system.f_type) & 0xFFFFFFFF;
  return FileSystem{magic, magic == kFuse ? mount_type(file.st_dev) : std::string()};
}

// The directory itself, else the nearest one above it that is there.
std::filesystem::path existing(std::filesystem::path dir) {
  std::error_code error;
  while (dir.has_relative_path() && !std::filesystem::exists(dir, error)) dir = dir.parent_path();
  return dir.empty() ? "." : dir;
}

}  // namespace

std::optional<std::string_view> network_file_system(const FileSystem& system) {
  if (system.magic == kFuse) {
    const auto dot = system.type.find('.');
    const auto name = dot == std::string::npos ? std::string_view()
                                               : std::string_view(system.type).substr(dot + 1);
    const auto found = std::ranges::find(kNetworkFuse, name);
    return found == kNetworkFuse.end() ? std::nullopt : std::optional(*found);
  }
  const auto found =
      std::ranges::find(kNetworkMagics, system.magic, &decltype(kNetworkMagics)::value_type::first);
  return found == kNetworkMagics.end() ? std::nullopt : std::optional(found->second);
}

Result<void> prepare_dir(const std::filesystem::path& dir) {
  const auto system = file_system_of(existing(dir));
  if (!system) return fail(system.error());
  if (const auto name = network_file_system(*system)) {
    return fail(
        ErrorCode::storage,
        fmt::format(
            "The directory {} is on a network file system ({}), which can't keep a database safe.",
            dir.string(), *name),
        "Choose a directory on a disk of this machine with --dir.");
  }
  const mode_t mode =
      ::geteuid() == 0 ? 0711 : 0700;  // root serves others: they pass to its socket
  if (auto made = make_own_directory(dir, mode); !made) return made;
  if (::faccessat(AT_FDCWD, dir.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
    return fail(cannot_use(dir, errno));
  return {};
}

}  // namespace paceline
