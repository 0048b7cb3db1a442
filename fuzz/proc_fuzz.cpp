// What the kernel shows of processes, mounts, groups and ports. Parts of it are other users' words: a
// process names itself, a mount may lie anywhere.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/linux/cgroups.hpp"
#include "agent/linux/ports.hpp"
#include "agent/linux/process.hpp"
#include "base/check.hpp"

namespace {

using namespace paceline;
using namespace paceline::agent;

// A process names itself in brackets, and may have any in its name: what stands before the last one
// tells nothing of it. What comes after the fields that are read doesn't, either.
void try_stat(std::string_view text) {
  const auto stat = parse_stat(text);
  if (!stat) return;
  const std::string rest(text.substr(text.rfind(')')));
  for (const char* name : {"42 (x", "1 (a) Z 1 (b) X"}) {
    const auto renamed = parse_stat(name + rest + " 5 6");
    check(renamed && renamed->state == stat->state && renamed->parent == stat->parent &&
              renamed->start_time == stat->start_time &&
              renamed->runs_own_program == stat->runs_own_program,
          "nobody is another process by its name");
  }
}

void try_mounts(std::string_view text) {
  const std::size_t half = text.find("\n\n");
  const std::string_view mounts = text.substr(0, half);
  const std::string_view own = half == std::string_view::npos ? "" : text.substr(half + 2);
  for (const char* controller : {"", "freezer", "cpu"}) {
    const CgroupMount found = find_cgroup_mount(mounts, own, controller);
    check(found.own.starts_with(found.mount_point), "a group lies below its mount");
    check(found.own.find("/../", found.mount_point.size()) == std::string::npos,
          "and never above it");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_stat(text);
  for (const pid_t pid : parse_members(text)) check(pid > 0, "a member can be signalled alone");
  try_mounts(text);
  const PortRange range = usable_ports(text);
  check(range.first < range.end && range.end <= 65'536, "there are ports to use");
  check(!has_environment_entry(text, ""), "nothing is no entry");
  static_cast<void>(is_marker(text));
  return 0;
}
