// What is seen of processes; the state is in ledger_state.cpp.
#include "faults/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "faults/worker_text.hpp"

namespace paceline::faults {
namespace {

constexpr std::size_t kFaultsMax = 20;
constexpr Duration kLookEvery = std::chrono::seconds{1};

}  // namespace

void Ledger::wrong(Time now, std::string what) {
  tell("WRONG", what);
  if (faults_.size() < kFaultsMax)
    faults_.push_back(fmt::format("at {:.3f} s: {}", to_seconds(now - begin_), what));
}

void Ledger::note(std::string_view what, std::string_view detail) {
  count(what);
  tell(what, detail);
}

void Ledger::count(std::string_view what, std::uint64_t times) {
  const auto found = happened_.find(what);
  if (found != happened_.end())
    found->second += times;
  else
    happened_.emplace(what, times);
}

void Ledger::tell(std::string_view what, std::string_view detail) {
  if (story_) story_(fmt::format("{}{}{}", what, detail.empty() ? "" : ": ", detail));
}

void Ledger::started(Time now, const std::string& machine, const ProcessKey& worker,
                     const std::vector<std::uint32_t>& slots) {
  digest_.add(static_cast<std::uint64_t>(to_us(now))).add(text(worker));
  count("worker started");
  if (story_) tell("worker started", fmt::format("{} on {}", text(worker), machine));
  refused_.erase(worker);  // asked for again: nobody had heard of the refusal
  if (!ever_.insert(worker).second) wrong(now, text(worker) + " is started a second time");
  const Wanted* gang = find_gang(worker);
  const bool born_into_it = gang && gang->generation == worker.born;
  if (!gang || (!born_into_it && !gang->beside.contains(worker))) {
    wrong(now, text(worker) + " is started, and the state does not want it");
  } else if (born_into_it) {
    Wanted& mine = current_[worker.job];
    mine.begun.insert(worker);
    if (!mine.begun_at) mine.begun_at = worked_by(now);
  }
  for (const auto& [other, process] : alive_) {
    if (other.job == worker.job && other.born != worker.born &&
        !(find_gang(other) && find_gang(worker)))
      wrong(now, text(worker) + " is started while " + text(other) + " is alive");
  }
  const Process& process = alive_[worker] = {machine, slots};
  if (!lending_.contains(worker.job)) occupy(now, worker, process, "is started");
}

// The current gang of its job, if it is a member, is to become one or leaves it.
const Ledger::Wanted* Ledger::find_gang(const ProcessKey& worker) const {
  const auto current = current_.find(worker.job);
  const bool known = current != current_.end() && current->second.knows(worker);
  return known ? &current->second : nullptr;
}

bool Ledger::is_member(const ProcessKey& worker) const {
  const auto current = current_.find(worker.job);
  return current != current_.end() && current->second.ranks.contains(worker);
}

void Ledger::enrolled(Time now, const ProcessKey& worker, const Membership& membership) {
  count("worker enrolled");
  const auto place = places_.find({worker, membership.generation});
  if (place == places_.end() || place->second != membership)
    wrong(now, text(worker) + " is told a place that is not its own");
}

LaunchSpec launch_of(const std::string& job) {
  return {{"python3", "train.py", job}, false, "", {{"JOB", job}}, "/home/ann", 022};
}

void Ledger::launched(Time now, const std::string& node, const WorkerLaunch& worker) {
  now_ = now;
  copies_.launched(node, worker);
  const Job* job = truth_.find_job(worker.key.job);
  if (!job || worker.job_name != job->spec->name || worker.launch != launch_of(job->spec->name))
    wrong(now, text(worker.key) + " is started with what its owner did not give");
}

void Ledger::occupy(Time now, const ProcessKey& worker, const Process& process,
                    std::string_view how) {
  for (const auto slot : process.slots) {
    const auto [at, free] = occupied_.try_emplace({process.machine, slot}, worker);
    if (!free && at->second != worker)
      wrong(now, fmt::format("{} {} in slot {} of {}, where {} is alive", text(worker), how, slot,
                             process.machine, text(at->second)));
  }
}

void Ledger::ended(Time now, const WorkerGone& gone, bool disturbed) {
  oracle_.ended(gone, disturbed);
  const ProcessKey& worker = gone.key;
  ports_.ended(worker);
  digest_.add(static_cast<std::uint64_t>(to_us(now))).add(text(worker));
  const auto found = alive_.find(worker);
  if (found == alive_.end()) return;
  if (story_) tell("worker ended", fmt::format("{} on {}", text(worker), found->second.machine));
  leave(worker, found->second);
  alive_.erase(found);
}

void Ledger::refused(const ProcessKey& worker) {
  note("start refused");
  refused_.insert(worker);
}

void Ledger::given_ports(Time now, const NodeSpec& node, const WorkerLaunch& launch,
                         const PortRange& ports) {
  now_ = now;
  ports_.given(node, launch, ports);
}

void Ledger::taken_port(Time now, const WorkerLaunch& launch) {
  now_ = now;
  ports_.taken(launch);
}

void Ledger::sent(Time now, const ServerFrame& frame, const State& state) {
  now_ = now;
  oracle_.confirmed(frame.session, frame.durable, state);
}

void Ledger::stored(const Batch& batch) {
  for (const MetricPoint& point : batch.points) oracle_.stored(point);
  for (const PassedOver& more : batch.passed_over) {
    count("point passed over", more.points > 0 ? static_cast<std::uint64_t>(more.points) : 0);
    oracle_.passed_over(more);
  }
}

void Ledger::leave(const ProcessKey& worker, const Process& process) {
  for (const auto slot : process.slots) {
    const auto at = occupied_.find({process.machine, slot});
    if (at != occupied_.end() && at->second == worker) occupied_.erase(at);
  }
}

// Its slots are others' from the commit on, and its own again from a commit on.
void Ledger::follow_lending(Time now, const Job& job) {
  const bool lends = job.current && job.current->lent_at;
  if (lends == lending_.contains(job.id)) return;
  if (lends)
    lending_.insert(job.id);
  else
    lending_.erase(job.id);
  for (const auto& [worker, process] : alive_) {
    if (worker.job != job.id) continue;
    if (lends)
      leave(worker, process);
    else if (job.current && job.current->rank_of(worker))
      occupy(now, worker, process, "goes on");
  }
}

void Ledger::worked(Time now, const ProcessKey& worker) {
  const auto paused = paused_.find(worker.job);
  if (paused != paused_.end() && worked_by(now) > paused->second + patience_)
    wrong(now, text(worker) + " works while it is paused");
}

void Ledger::away(const std::string& machine, Time until) {
  Time& known = away_until_[machine];
  known = std::max(known, worked_by(until));
}

Time Ledger::heard_after(const std::string& machine, Time at) const {
  const auto away = away_until_.find(machine);
  return away == away_until_.end() ? at : std::max(at, away->second);
}

void Ledger::passed(Time now, bool works) {
  if (idle_since_) idle_ += now - *std::exchange(idle_since_, std::nullopt);
  if (!works) idle_since_ = now;
  if (looked_at_ && now < *looked_at_ + kLookEvery) return;
  looked_at_ = now;
  check_processes(now);
  for (const auto& [job, gang] : current_) check_gang(now, job, gang);
}

void Ledger::check_processes(Time now) {
  for (const auto& [worker, process] : alive_) {
    const Wanted* gang = find_gang(worker);
    if (!gang) {
      wrong(now, text(worker) + " is alive, and the state has given it up");
    } else if (const auto dead_by = gang->dead_by_of(worker);
               dead_by &&
               worked_by(now) > heard_after(gang->machine_of(worker), *dead_by) + patience_) {
      wrong(now, text(worker) + " outlives its stop");
    }
  }
}

void Ledger::check_gang(Time now, JobId job, const Wanted& gang) {
  for (const auto& [process, beside] : gang.beside) {
    if (!beside.wanted_at || ever_.contains(process)) continue;
    if (worked_by(now) > heard_after(beside.machine, *beside.wanted_at) + patience_)
      wrong(now, text(process) + " is never started");
  }
  if (!gang.begun_at || gang.dead_by || gang.begun.size() == gang.machines.size()) return;
  Time since = *gang.begun_at;
  for (const std::string& machine : gang.machines) since = heard_after(machine, since);
  if (worked_by(now) <= since + patience_) return;
  wrong(now,
        fmt::format("generation {} of job {} is in part: {} of {} workers were started",
                    gang.generation.value, job.value, gang.begun.size(), gang.machines.size()));
}

}  // namespace paceline::faults
