#include "agent/linux/job_log_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "agent/linux/log_room.hpp"
#include "agent/linux/timeline_file.hpp"
#include "files/log_names.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kHeadPart = 10;  // one in so many bytes
constexpr std::uint64_t kHeadMax = 16 << 20;
constexpr int kRest = 40;  // calls, where bytes can't be removed: seconds

using Rooms = std::map<std::int32_t, std::uint64_t>;

std::uint64_t sum_of(const Rooms& rooms) {
  std::uint64_t sum = 0;
  for (const auto& [number, room] : rooms) sum += room;
  return sum;
}

// To what length the longest are cut so that all together take at most `bytes_max`.
std::uint64_t common_length(const Rooms& rooms, std::uint64_t bytes_max) {
  std::vector<std::uint64_t> ascending;
  for (const auto& [number, room] : rooms) ascending.push_back(room);
  std::ranges::sort(ascending);
  std::size_t longer = ascending.size();
  for (const std::uint64_t room : ascending) {
    if (room * longer > bytes_max) return bytes_max / longer;
    bytes_max -= room;
    --longer;
  }
  return kLogEnd;
}

std::string unread_sentence(const RemovedBytes& removed, std::uint64_t stored) {
  return fmt::format(
      "bytes {} to {} of this log were removed before what they report was stored: the job's logs "
      "take more room than they may",
      std::max(removed.begin, stored), removed.end - 1);
}

// 0 is no limit.
std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

}  // namespace

void JobLogLimit::hold(const std::map<JobId, JobLogs>& jobs) {
  for (const auto& [job, logs] : jobs) {
    Known& known = look(job, logs);
    hold_job(job, known, logs);
    known.used.clear();
    for (const auto& [number, stored] : logs.stored) known.used.insert(number);
  }
  std::erase_if(jobs_, [&](auto& each) {
    auto& [job, known] = each;
    if (jobs.contains(job)) return false;
    hold_job(job, look(job, {known.bytes_max, {}}), {});
    return true;
  });
}

// Only logs in use grow; of a job that is new here all are looked at.
JobLogLimit::Known& JobLogLimit::look(JobId job, const JobLogs& now) {
  const auto [found, is_new] = jobs_.try_emplace(job);
  Known& known = found->second;
  known.bytes_max = smaller(now.bytes_max, bytes_max_);
  std::set<std::int32_t> grown = known.used;
  for (const auto& [number, stored] : now.stored) grown.insert(number);
  if (is_new)
    for (const std::int32_t number : logs_of(directory_, job)) grown.insert(number);
  for (const std::int32_t number : grown) {
    if (is_timeline(number)) {
      hold_timeline(path_of({job, number}));
      continue;
    }
    const auto room = room_of(path_of({job, number}));
    known.rooms[number] = room ? room->bytes : 0;
  }
  return known;
}

void JobLogLimit::hold_job(JobId job, Known& known, const JobLogs& now) const {
  const std::uint64_t sum = sum_of(known.rooms);
  if (known.bytes_max == 0 || sum <= known.bytes_max || known.rest-- > 0) return;
  known.rest = 0;
  const std::uint64_t length = common_length(known.rooms, known.bytes_max);
  const bool all = sum > known.bytes_max + known.bytes_max / 2;
  for (auto& [number, room] : known.rooms) {
    if (room <= length) continue;
    const auto used = now.stored.find(number);
    const std::uint64_t stored = used == now.stored.end() ? kLogEnd : used->second;
    const OldBytes old{room - length, std::min(length / kHeadPart, kHeadMax),
                       all ? kLogEnd : stored};
    const std::string path = path_of({job, number});
    const RemovedBytes removed = remove_bytes(path, old);
    room -= std::min(room, removed.room);
    if (removed.refused) known.rest = kRest;
    if (removed.end > std::max(removed.begin, stored))
      add_log_note(path, unread_sentence(removed, stored));
  }
}

}  // namespace paceline::agent
