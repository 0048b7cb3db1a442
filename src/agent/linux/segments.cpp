#include "agent/linux/segments.hpp"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sstream>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/process.hpp"

namespace paceline::agent {
namespace {

constexpr const char* kSegments = "/proc/sysvipc/shm";
constexpr std::size_t kSegmentsMax = std::size_t{4} << 20;  // bytes of text

constexpr double kCoarseSeconds = 0.05;  // that the clocks of segments and processes may differ by

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// By the wall clock as it is now, in whole seconds.
std::int64_t started_at(const ProcessStat& process) {
  const double booted = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME);
  const double after =
      static_cast<double>(process.start_time) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::int64_t>(booted + after - kCoarseSeconds);
}

std::vector<MemorySegment> read_segments() {
  return parse_segments(read_file(kSegments, kSegmentsMax).value_or(""));
}

}  // namespace

std::vector<MemorySegment> parse_segments(std::string_view text) {
  std::vector<MemorySegment> segments;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::int64_t key = 0, skipped = 0;
    std::string mode;
    MemorySegment one;
    words >> key >> one.id >> mode >> skipped >> one.maker >> skipped >> one.attached >> one.uid >>
        skipped >> one.maker_uid >> skipped >> skipped >> skipped >> one.changed_at;
    if (words) segments.push_back(one);
  }
  return segments;
}

void GangSegments::watch(const GangKey& gang, Owner owner) {
  if (owners_.empty()) known_.clear();
  learn(read_segments());
  owners_.emplace(gang, std::move(owner));
}

void GangSegments::look() {
  if (owners_.empty()) return;
  const std::vector<MemorySegment> segments = read_segments();
  auto before = std::exchange(known_, {});
  for (const MemorySegment& segment : segments)
    if (auto known = before.extract(std::pair{segment.id, segment.maker}))
      known_.insert(std::move(known));
  learn(segments);
}

// Of those that are new.
void GangSegments::learn(const std::vector<MemorySegment>& segments) {
  std::multimap<pid_t, MemorySegment> made;
  for (const MemorySegment& segment : segments) {
    const std::pair name{segment.id, segment.maker};
    if (known_.contains(name)) continue;
    if (may_be_owned(segment))
      made.emplace(segment.maker, segment);
    else
      known_.emplace(name, std::nullopt);
  }
  std::vector<pid_t> makers;
  for (auto it = made.begin(); it != made.end(); it = made.upper_bound(it->first))
    makers.push_back(it->first);
  const auto take = [&](pid_t maker, const MemoryFile& environment) {
    if (environment.error == ETIMEDOUT) return;
    const auto [begin, end] = made.equal_range(maker);
    for (auto it = begin; it != end; ++it)
      known_.emplace(std::pair{it->second.id, maker}, gang_of(it->second, environment.text));
  };
  static_cast<void>(environments_.read(makers, take));
}

bool GangSegments::may_be_owned(const MemorySegment& segment) const {
  return segment.maker > 0 && segment.uid == segment.maker_uid &&
         std::ranges::any_of(owners_,
                             [&](const auto& each) { return each.second.uid == segment.uid; });
}

// The maker lives, was there when the segment was made, and is one of a worker's processes.
std::optional<GangKey> GangSegments::gang_of(const MemorySegment& segment,
                                             std::string_view environment) const {
  const auto process = read_stat(segment.maker);
  if (!process || segment.changed_at < started_at(*process)) return {};
  for (const auto& [gang, owner] : owners_)
    if (owner.uid == segment.uid && has_environment_entry(environment, owner.marker)) return gang;
  return {};
}

void GangSegments::forget(const GangKey& gang) {
  if (owners_.erase(gang) == 0) return;
  for (const MemorySegment& segment : read_segments()) {
    const auto known = known_.find({segment.id, segment.maker});
    const bool its = known != known_.end() && known->second == gang;
    if (its && segment.uid == segment.maker_uid && segment.attached == 0)
      ::shmctl(segment.id, IPC_RMID, nullptr);
  }
  std::erase_if(known_, [&](const auto& one) { return one.second == gang; });
}

}  // namespace paceline::agent
