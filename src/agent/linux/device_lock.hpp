// A lock per device for the whole machine: two Paceline servers of different directories, or
// different users, never use one device at the same time. It is taken when a worker starts and held
// by the worker's supervisor until nothing of the worker is left.
//
// Locks are files that everybody may lock, in /run/lock/paceline and in /tmp/paceline-locks: in
// each of them that can be used, because not every user can make the first and not every service
// sees the second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/linux/fd.hpp"
#include "base/result.hpp"

namespace paceline::agent {

class DeviceLocks {
 public:
  // `owner` is the server's directory: what another server shows as the user of the device.
  explicit DeviceLocks(std::string owner, std::vector<std::string> directories = {
                                              "/run/lock/paceline", "/tmp/paceline-locks"});

  // Errors: unavailable (another server has it), storage (no lock can be taken at all).
  Result<std::vector<UniqueFd>> take(const std::string& uuid) const;
  // The directory of the server that has the device, as far as known; nothing if it is free.
  [[nodiscard]] std::optional<std::string> holder(const std::string& uuid) const;

 private:
  [[nodiscard]] std::vector<UniqueFd> open(const std::string& uuid) const;

  std::string owner_;
  std::vector<std::string> directories_;
};

}  // namespace paceline::agent
