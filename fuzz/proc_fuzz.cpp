// What the kernel shows of processes, mounts, groups and ports. Parts of it are other users' words: a
// process names itself, a mount may lie anywhere.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/linux/cgroups.hpp"
#include "agent/linux/ports.hpp"
#include "agent/linux/process.hpp"
#include "base/check.hpp"

namespace {

using namespace paceline;
using namespace paceline::agent;

void try_mounts(std::string_view text) {
  const std::size_t half = text.find("\n\n");
  const std::string_view mounts = text.substr(0, half);
  const std::string_view own = half == std::string_view::npos ? "" : text.substr(half + 2);
  for (const char* controller : {"", "freezer", "cpu"}) {
    const CgroupMount found = find_cgroup_mount(mounts, own, controller);
    check(found.own.starts_with(found.mount_point), "a group lies below its mount");
    check(found.own.find("/../") == std::string::npos || found.own == found.mount_point,
          "and never above it");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_stat(text));
  for (const pid_t pid : parse_members(text)) check(pid > 0, "a member can be signalled alone");
  try_mounts(text);
  const PortRange range = usable_ports(text);
  check(range.first < range.end && range.end <= 65'536, "there are ports to use");
  check(!has_environment_entry(text, ""), "nothing is no entry");
  static_cast<void>(is_marker(text));
  return 0;
}
