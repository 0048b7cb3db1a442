#include "sim/ledger.hpp"

#include <fmt/format.h>

#include "plan/check.hpp"
#include "wire/entry_json.hpp"

namespace paceline::sim {
namespace {

constexpr std::size_t kFaultsMax = 20;

std::string text(const WorkerKey& key) {
  return fmt::format("worker {} of generation {} of job {}", key.rank, key.generation.value,
                     key.job.value);
}

}  // namespace

void Ledger::wrong(Time now, std::string what) {
  if (faults_.size() < kFaultsMax)
    faults_.push_back(fmt::format("at {:.3f} s: {}", to_seconds(now), what));
}

void Ledger::started(Time now, const std::string& machine, const WorkerKey& worker,
                     const std::vector<std::uint32_t>& slots) {
  digest_.add(static_cast<std::uint64_t>(to_us(now))).add(text(worker));
  note("start");
  if (!ever_.insert(worker).second) wrong(now, text(worker) + " is started a second time");
  const auto current = current_.find(worker.job);
  if (current == current_.end() || current->second != worker.generation) {
    wrong(now, text(worker) + " is started, and the state does not want it");
  }
  for (const auto& [other, process] : alive_) {
    if (other.job == worker.job && other.generation != worker.generation) {
      wrong(now, text(worker) + " is started while " + text(other) + " is alive");
    }
  }
  for (const auto slot : slots) {
    const auto [at, free] = occupied_.try_emplace({machine, slot}, worker);
    if (!free)
      wrong(now, fmt::format("{} is started in slot {} of {}, where {} is alive", text(worker),
                             slot, machine, text(at->second)));
  }
  alive_[worker] = {machine, slots};
}

void Ledger::ended(Time now, const WorkerKey& worker) {
  digest_.add(static_cast<std::uint64_t>(to_us(now))).add(text(worker));
  const auto found = alive_.find(worker);
  if (found == alive_.end()) return;
  for (const auto slot : found->second.slots) occupied_.erase({found->second.machine, slot});
  alive_.erase(found);
}

void Ledger::committed(Time now, std::span<const Entry> entries, const State& state,
                       std::span<const JobId> touched) {
  for (const Entry& entry : entries) {
    digest_.add(entry_text(entry));
    if (entry.seq != ++seq_)
      wrong(now, fmt::format("entry {} follows entry {}", entry.seq, seq_ - 1));
  }
  for (const JobId id : touched) check_job(now, state.job(id));
  check_whole(now, state);
}

void Ledger::check_job(Time now, const Job& job) {
  const auto before = over_.find(job.id);
  if (before != over_.end() && before->second != job.state) {
    wrong(now, fmt::format("job {} was {} and is {}", job.id.value, to_string(before->second),
                           to_string(job.state)));
  }
  if (is_over(job.state)) over_[job.id] = job.state;
  if (job.state == JobState::paused)
    paused_.try_emplace(job.id, now);
  else
    paused_.erase(job.id);
  if (job.current)
    current_[job.id] = job.current->generation;
  else
    current_.erase(job.id);
}

void Ledger::recovered(Time now, const State& state) {
  if (state.seq() < seq_)
    wrong(now, fmt::format("the state ends at entry {} of {}", state.seq(), seq_));
  if (state.seq() > seq_ + 1) note("commit that nobody was told of");
  seq_ = state.seq();
  digest_.add(seq_);
  for (const Job& job : state.jobs()) check_job(now, job);
  for (const auto& [id, name] : promised_) {
    const Job* job = state.find_job(id);
    if (!job || job->spec->name != name)
      wrong(now, fmt::format("job {} ({}) was promised and is not there", id.value, name));
  }
  check_whole(now, state);
}

void Ledger::check_whole(Time now, const State& state) {
  for (const auto& what : check_state(state)) wrong(now, what);
  for (const auto& [worker, process] : alive_)
    check_process(now, worker, state.find_job(worker.job));
}

void Ledger::check_process(Time now, const WorkerKey& worker, const Job* job) {
  if (!job || !job->current || job->current->generation != worker.generation) {
    return wrong(now, text(worker) + " is alive, and the state has given it up");
  }
  const auto& stop = job->current->stop;
  if (stop && now > stop->at + stop->grace + kPatience)
    wrong(now, text(worker) + " outlives its stop");
}

void Ledger::worked(Time now, const WorkerKey& worker) {
  const auto paused = paused_.find(worker.job);
  if (paused != paused_.end() && now > paused->second + kPatience)
    wrong(now, text(worker) + " works while it is paused");
}

void Ledger::at_rest(Time now, const State& state) {
  recovered(now, state);
  std::set<std::string> names;
  for (const Job& job : state.jobs()) {
    note(std::string(to_string(job.state)));
    note("resize", static_cast<std::uint64_t>(job.resizes));
    note("retry", static_cast<std::uint64_t>(job.retries_used));
    if (!is_over(job.state))
      wrong(now, fmt::format("job {} is still {}", job.id.value, to_string(job.state)));
    if (!names.insert(job.spec->name).second) wrong(now, job.spec->name + " was submitted twice");
  }
  for (const auto& [worker, process] : alive_)
    wrong(now, text(worker) + " is still alive on " + process.machine);
}

}  // namespace paceline::sim
