// A lock per device for the whole machine: two Paceline servers of different directories, or
// different users, never use one device at the same time. It is taken when a worker starts and held
// by the worker's supervisor until nothing of the worker is left.
//
// A server of root's locks files in a directory of root's own, which nobody else can open, so nobody
// keeps it from a device by a lock. Everybody else sees in /proc/locks which of them are held.
// Servers of other users lock files that everybody may lock, in each of the shared directories that
// belongs to root or to themselves: in any other its owner could put new files in their place. Where
// there is none, in one of their own; then they see other users' servers by the processes on a
// device alone, as root's does.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

struct LockDirectories {
  std::string roots = "/run/paceline/devices";
  // Not every user can make the first, and not every service sees the second.
  std::vector<std::string> shared = {"/run/lock/paceline", "/tmp/paceline-locks"};
  std::string own = "/tmp/paceline-devices";  // with the user's id behind it
};

class DeviceLocks {
 public:
  // `owner` is the server's directory: what another server shows as the user of the device.
  explicit DeviceLocks(std::string owner, LockDirectories directories = {});

  // Errors: unavailable (another server has it), storage (no lock can be taken at all).
  Result<std::vector<UniqueFd>> take(const std::string& uuid) const;
  // The directory of the server that has the device, as far as known; nothing if it is free.
  [[nodiscard]] std::optional<std::string> holder(const std::string& uuid) const;

 private:
  [[nodiscard]] std::vector<UniqueFd> open(const std::string& uuid) const;
  [[nodiscard]] bool root_has(const std::string& uuid) const;

  std::string owner_;
  LockDirectories directories_;
};

// Does a line of /proc/locks tell of a lock on this file? (device and inode as stat() gives them)
bool lists_lock(std::string_view locks, dev_t device, ino_t inode);

}  // namespace paceline::agent
