// System V shared memory of workers that have no memory of their own (shm.hpp). It outlives whoever made
// it. The kernel keeps the pid of a segment's maker, so what a gang made can be told from what its owner
// or another job made, as long as the maker lives: it is looked at again and again.
//
//   GangSegments segments;
//   segments.watch(gang, {uid, marks.marker(key)});  // before the worker is started
//   segments.look();                                 // every now and then, and before it is killed
//   segments.forget(gang);                           // once its last worker is over
//
// A maker that doesn't show its environment is looked at again, too (process_environments.hpp).
//
// Only a segment that a process with the marker of one of the gang's workers made, that belongs to the
// owner, and that is attached to nobody, is removed. What stays: segments whose maker had ended before anybody looked, and
// semaphores, message queues and files, of which the kernel keeps no maker.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/linux/process_environments.hpp"
#include "agent/linux/shm.hpp"

namespace paceline::agent {

struct MemorySegment {
  int id = 0;
  pid_t maker = 0;  // 0: of another pid namespace
  std::uint32_t uid = 0;
  std::uint32_t maker_uid = 0;
  std::uint64_t attached = 0;   // times
  std::int64_t changed_at = 0;  // seconds of the wall clock: when it was made, or given away later
};

// The segments in the text of /proc/sysvipc/shm; lines that are none are left out.
std::vector<MemorySegment> parse_segments(std::string_view text);

class GangSegments {
 public:
  struct Owner {
    std::uint32_t uid = 0;
    std::string marker;  // of the worker
  };

  // Whatever is there already is not the worker's. REQUIRES: the worker has no process yet.
  void watch(const GangKey& gang, Owner owner);
  // Finds out whose the segments are that were made since the last look. Nothing while none is watched.
  void look();
  // Removes what the gang made and nobody uses.
  void forget(const GangKey& gang);

 private:
  void learn(const std::vector<MemorySegment>& segments);
  [[nodiscard]] bool may_be_owned(const MemorySegment& segment) const;
  [[nodiscard]] std::optional<GangKey> gang_of(const MemorySegment& segment,
                                               std::string_view environment) const;

  ProcessEnvironments environments_;
  std::multimap<GangKey, Owner> owners_;
  // By id and maker; nothing: of nobody who is watched.
  std::map<std::pair<int, pid_t>, std::optional<GangKey>> known_;
};

}  // namespace paceline::agent
