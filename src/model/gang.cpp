#include "model/gang.hpp"

#include <algorithm>
#include <utility>

namespace paceline {

ProcessKey Gang::process(JobId job, std::int32_t rank) const {
  const auto& named = workers[static_cast<std::size_t>(rank)].process;
  return named.value_or(ProcessKey{job, generation, rank});
}

std::optional<std::int32_t> Gang::rank_of(const ProcessKey& process) const {
  const bool may_be_own = process.born == generation && process.number >= 0;
  if (may_be_own && process.number < size() &&
      !workers[static_cast<std::size_t>(process.number)].process)
    return process.number;
  const auto found = std::ranges::find(workers, process, &Worker::process);
  if (found == workers.end()) return {};
  return static_cast<std::int32_t>(found - workers.begin());
}

// From the last rank on, as ranks start and end in order more often than not.
Generation Gang::oldest(JobId job) const {
  Generation oldest = generation;
  for (std::int32_t rank = 0; rank < size(); ++rank)
    oldest = std::min(oldest, process(job, rank).born);
  return oldest;
}

bool Gang::all_started() const {
  return std::none_of(workers.rbegin(), workers.rend(),
                      [](const Worker& w) { return w.state == WorkerState::assigned; });
}

bool Gang::all_ended() const {
  return std::all_of(workers.rbegin(), workers.rend(),
                     [](const Worker& w) { return w.state == WorkerState::ended; });
}

bool Gang::any_ended() const {
  return std::any_of(workers.begin(), workers.end(),
                     [](const Worker& w) { return w.state == WorkerState::ended; });
}

const Ending* Gang::first_failure() const {
  const Ending* first = nullptr;
  for (const auto& w : workers) {
    if (!w.ending || w.ending->clean()) continue;
    const auto when = [](const Ending& e) { return std::pair{e.ours(), e.at}; };
    if (!first || when(*w.ending) < when(*first)) first = &*w.ending;
  }
  return first;
}

}  // namespace paceline
