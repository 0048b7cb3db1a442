// What is seen of the state.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "faults/ledger.hpp"
#include "faults/worker_text.hpp"
#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "wire/entry_json.hpp"

namespace paceline::faults {
namespace {

bool fails_by_itself(const Ending& ending) {
  return !ending.clean() && !ending.ours() && ending.cause != Cause::node_lost &&
         ending.cause != Cause::refused && ending.cause != Cause::requeue_asked;
}
constexpr Duration kReckonError = std::chrono::seconds{1};

}  // namespace

void Ledger::committed(Time now, std::span<const Entry> entries, const State& state,
                       std::span<const JobId> touched) {
  now_ = now;
  for (const Entry& entry : entries) take(now, entry);
  if (!entries.empty()) {
    note_commit(now);
    boot_.clear();
  }
  for (const JobId id : touched) {
    check_job(now, state, state.job(id));
    check_sums(now, state.job(id));
  }
  check_whole(now, state);
}

void Ledger::nodes_left(std::set<std::string> names) {
  left_ = std::move(names);
  left_in_doubt_.insert(left_.begin(), left_.end());
}

void Ledger::note_commit(Time now) {
  left_in_doubt_ = left_;
  committed_at_ = now;
  still_before_ = still_;
}

void Ledger::take(Time now, const Entry& entry) {
  const std::string text = entry_text(entry);
  digest_.add(text);
  tell("entry", text);
  if (entry.seq != truth_.seq() + 1)
    return wrong(now, fmt::format("entry {} follows entry {}", entry.seq, truth_.seq()));
  oracle_.took(entry);
  const auto* happened = std::get_if<Event>(&entry.body);
  if (const auto* ended = happened ? std::get_if<WorkerEnded>(happened) : nullptr)
    return take_ending(now, entry, *ended);
  if (const auto* forgotten = forgotten_by(entry)) return take_forgotten(now, entry, *forgotten);
  if (const auto* retired = happened ? std::get_if<NodesRetired>(happened) : nullptr)
    return take_retired(now, entry, *retired);
  const auto* joined = happened ? std::get_if<NodeUp>(happened) : nullptr;
  const Node* back = joined ? truth_.find_node(joined->node) : nullptr;
  if (back && back->retired) count("node joined anew");
  apply(truth_, entry);
  now_ = now;
  if (const auto* plan = std::get_if<Plan>(&entry.body)) return check_plan(now, *plan);
  const Event& event = *happened;
  if (const auto* kept = std::get_if<CheckpointKept>(&event)) copies_.kept(*kept);
  if (const auto* saved = std::get_if<CheckpointAcknowledged>(&event)) copies_.saved(*saved);
  if (std::holds_alternative<PolicyFailed>(event)) count("script failed");
  if (std::holds_alternative<ClockSet>(event)) count("clock seen set");
  if (const auto* limit = std::get_if<TimeLimitReached>(&event))
    check_limit(now, truth_.job(limit->job));
  const auto* submitted = std::get_if<JobSubmitted>(&event);
  if (submitted && !names_.emplace(submitted->spec.name, submitted->job).second)
    wrong(now, submitted->spec.name + " is submitted twice");
}

// Each of them is over, is forgotten once, and no job waits for it that could not start.
void Ledger::take_forgotten(Time now, const Entry& entry, const JobsForgotten& forgotten) {
  count("job forgotten", forgotten.jobs.size());
  for (const JobId id : forgotten.jobs) {
    const Job* job = truth_.find_job(id);
    if (!job || !is_over(job->state))
      wrong(now, fmt::format("job {} is forgotten, and is not over", id.value));
    else if (!forgotten_.emplace(id, *job).second)
      wrong(now, fmt::format("job {} is forgotten twice", id.value));
  }
  apply(truth_, entry);
  for (const JobId id : forgotten.jobs) {
    if (truth_.find_job(id)) wrong(now, fmt::format("job {} is forgotten and there", id.value));
  }
}

// Each of them left, or was absent for as long as was said, and no process that a job of the state wants is on
// its machine.
void Ledger::take_retired(Time now, const Entry& entry, const NodesRetired& retired) {
  for (const NodeId id : retired.nodes) {
    const Node& node = *truth_.find_node(id);
    const std::string machine = node.spec.machine;
    if (node.up || node.retired)
      wrong(now, fmt::format("node {} retires, and is {}", id.value, node.up ? "up" : "retired"));
    else if (!left_in_doubt_.contains(node.spec.name) &&
             (!retire_after_ || !node.absent_since ||
              entry.at - *node.absent_since < *retire_after_))
      wrong(now, fmt::format("node {} retires too early", id.value));
    for (const auto& [key, process] : alive_) {
      if (process.machine == machine && find_gang(key))
        wrong(now, fmt::format("node {} retires, and {} runs there", id.value, text(key)));
    }
  }
  apply(truth_, entry);
  for (const NodeId id : retired.nodes) {
    if (!truth_.find_node(id)->retired)
      wrong(now, fmt::format("node {} retires, and stays", id.value));
    count("node retired");
  }
}

// A job pays with a retry, or with its end.
void Ledger::take_ending(Time now, const Entry& entry, const WorkerEnded& ended) {
  const Job* job = truth_.find_job(ended.worker.job);
  const std::int32_t retries = job ? job->retries_used : 0;
  bool own_fault = fails_by_itself(ended.ending);
  if (job && job->current) {
    for (const Worker& worker : job->current->workers)
      own_fault = own_fault || (worker.ending && fails_by_itself(*worker.ending));
  }
  apply(truth_, entry);
  reckoned_[ended.worker.job].unseen += ended.unseen;
  if (refused_.contains(ended.worker) && fails_by_itself(ended.ending))
    wrong(now, fmt::format("{} was refused and ends as {}", text(ended.worker),
                           to_string(ended.ending.cause)));
  if (!job || own_fault) return;
  if (job->retries_used > retries || job->state == JobState::failed)
    wrong(now, fmt::format("job {} pays for what its machine lacks", job->id.value));
}

void Ledger::check_plan(Time now, const Plan& plan) {
  for (const Change& change : plan.changes) {
    count(to_string(change.kind));
    if (change.reason.code == ReasonCode::none)
      wrong(now, fmt::format("the {} of job {} has no reason", to_string(change.kind),
                             change.job.value));
    if (const Job* job = truth_.find_job(change.job)) copies_.planned(truth_, *job, change);
  }
}

void Ledger::check_job(Time now, const State& state, const Job& job) {
  const auto before = over_.find(job.id);
  if (before != over_.end() && before->second != std::pair{job.state, job.ended_at}) {
    wrong(now, fmt::format("job {} was {} and is {} again", job.id.value,
                           to_string(before->second.first), to_string(job.state)));
  }
  if (is_over(job.state)) over_[job.id] = {job.state, job.ended_at};
  if (job.state == JobState::paused)
    paused_.try_emplace(job.id, worked_by(now));
  else
    paused_.erase(job.id);
  reckon(now, job);
  check_generations(now, job);
  oracle_.check(now, state, job);
  follow_lending(now, job);
  follow_gang(now, state, job);
}

void Ledger::reckon(Time now, const Job& job) {
  const auto [known, fresh] = reckoned_.try_emplace(job.id);
  Reckoning& mine = known->second;
  if (fresh || mine.submitted == Time{}) {
    mine.submitted = now;
    mine.still_before = still_;
    mine.untold_before = untold_;
  }
  if (mine.runs) mine.ran += now - mine.since;
  mine.since = now;
  mine.runs = job.state == JobState::running || job.state == JobState::resizing ||
              job.state == JobState::stopping;
}

// REQUIRES: the job's sums are of now.
void Ledger::check_sums(Time now, const Job& job) {
  const Reckoning& mine = reckoned_[job.id];
  const Duration untold = untold_ - mine.untold_before + kReckonError;
  const Duration less = still_ - mine.still_before + mine.unseen + untold;
  const auto differs = [&](Duration said, Duration was) {
    return said > was + untold || said < was - less;
  };
  if (differs(job.ran, mine.ran))
    wrong(now, fmt::format("job {} ran for {:.1f} s, and it is said for {:.1f} s", job.id.value,
                           to_seconds(mine.ran), to_seconds(job.ran)));
  const Duration said = job.waited + job.ran + job.paused;
  if (!is_over(job.state) && differs(said, now - mine.submitted))
    wrong(now, fmt::format("job {} is there for {:.1f} s, and it is said for {:.1f} s",
                           job.id.value, to_seconds(now - mine.submitted), to_seconds(said)));
}

void Ledger::check_limit(Time now, const Job& job) {
  const Reckoning& mine = reckoned_[job.id];
  const Duration ran = mine.ran + (mine.runs ? now - mine.since : Duration::zero());
  const Duration untold = untold_ - mine.untold_before + kReckonError;
  if (!job.spec->max_duration || ran + untold < *job.spec->max_duration)
    wrong(now, fmt::format("job {} reaches its time limit after {:.1f} s", job.id.value,
                           to_seconds(ran)));
}

// Numbers only grow: what forms or runs is new, or what formed or ran before. A gang that takes its lent
// slots back keeps its own, whatever was to follow it meanwhile and did not come about.
void Ledger::check_generations(Time now, const Job& job) {
  const auto before = current_.find(job.id);
  const bool runs_on = job.current && before != current_.end() &&
                       before->second.generation == job.current->generation;
  Generation& newest = newest_[job.id];
  if (job.current && !runs_on && job.current->generation < newest)
    wrong(now, fmt::format("generation {} of job {} comes back", job.current->generation.value,
                           job.id.value));
  if (job.forming) {
    const Generation forming = job.forming->generation;
    const bool late = job.lends()
                          ? forming != job.current->generation
                          : forming < newest || (job.current && forming <= job.current->generation);
    if (late)
      wrong(now,
            fmt::format("generation {} of job {} forms too late", forming.value, job.id.value));
  }
  newest = std::max(newest, job.last_generation);
}

void Ledger::follow_gang(Time now, const State& state, const Job& job) {
  if (!job.current) {
    current_.erase(job.id);
    return;
  }
  Wanted& gang = current_[job.id];
  if (gang.generation != job.current->generation) {
    gang = {job.current->generation, {}, {}, {}, {}, {}, {}, {}};
    for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
      const Worker& worker = job.current->workers[static_cast<std::size_t>(rank)];
      const ProcessKey process = job.current->process(job.id, rank);
      gang.ranks.emplace(process, rank);
      if (ever_.contains(process)) gang.begun.insert(process);
      if (process.born != gang.generation)
        places_[{process, gang.generation}] = {gang.generation, rank, job.current->size()};
      const NodeSpec& node = state.find_node(worker.seat.node)->spec;
      gang.machines.push_back(node.machine.empty() ? node.name : node.machine);
    }
  }
  follow_beside(now, state, job, gang);
  if (!gang.begun.empty() && !gang.begun_at) gang.begun_at = worked_by(now);
  const auto& stop = job.current->stop;
  const auto stop_at = stop ? std::optional(stop->at) : std::nullopt;
  if (std::exchange(gang.stop_at, stop_at) == stop_at) return;
  gang.dead_by = stop ? std::optional(worked_by(now) + stop->grace) : std::nullopt;
}

void Ledger::follow_beside(Time now, const State& state, const Job& job, Wanted& gang) const {
  const auto before = std::exchange(gang.beside, {});
  const auto machine_of = [&](const Seat& seat) {
    const NodeSpec& node = state.find_node(seat.node)->spec;
    return node.machine.empty() ? node.name : node.machine;
  };
  for (std::int32_t rank = 0; job.forms_in_place() && !job.lends() && rank < job.forming->size();
       ++rank) {
    const Worker& worker = job.forming->workers[static_cast<std::size_t>(rank)];
    if (!job.joins(rank)) continue;
    const ProcessKey process = job.forming->process(job.id, rank);
    Beside& mine = gang.beside[process] = {machine_of(worker.seat), {}, {}, {}};
    const auto known = before.find(process);
    if (ever_.contains(process) || !state.has_seat(process, worker.seat)) continue;
    const bool wanted = known != before.end() && known->second.wanted_at;
    mine.wanted_at = wanted ? known->second.wanted_at : worked_by(now);
  }
  for (const auto& [process, worker, stop, joined] : job.parting) {
    Beside& mine = gang.beside[process] = {machine_of(worker.seat), stop.at, {}, {}};
    const auto known = before.find(process);
    const bool same = known != before.end() && known->second.stop_at == mine.stop_at;
    mine.dead_by = same ? known->second.dead_by : worked_by(now) + stop.grace;
  }
}

void Ledger::recovered(Time now, std::span<const Entry> untold, const State& state) {
  now_ = now;
  if (seq() > 0 && !untold.empty()) count("commit that nobody was told of");
  for (const Entry& entry : untold) take(now, entry);
  digest_.add(seq());
  if (state.seq() != seq())
    wrong(now, fmt::format("the state ends at entry {} of {}", state.seq(), seq()));
  else if (state.parts() != truth_.parts())
    wrong(now, "the state is not what the entries say");
  for (const Job& job : state.jobs()) check_job(now, state, job);
  if (!boot_.empty()) still_ = still_before_ + (now - committed_at_);
  if (untold.empty()) return check_whole(now, state);
  untold_ += now - committed_at_;
  note_commit(now);
  if (truth_.boot() && truth_.boot()->id == boot_) boot_.clear();
  check_whole(now, state);
}

void Ledger::check_whole(Time now, const State& state) {
  for (const auto& what : check_state(state)) wrong(now, what);
  for (const auto& [id, promise] : promised_) {
    const Job* job = state.find_job(id);
    if (const auto left = forgotten_.find(id); left != forgotten_.end()) job = &left->second;
    if (!job || job->spec->name != promise.name || job->spec->uid != promise.uid)
      wrong(now, fmt::format("job {} ({}) was promised and is not there", id.value, promise.name));
  }
  check_processes(now);
}

void Ledger::at_rest(Time now, const State& state) {
  recovered(now, {}, state);
  oracle_.at_rest();
  for (const auto& [id, job] : forgotten_) {
    count(to_string(job.state));
    count("retry", static_cast<std::uint64_t>(job.retries_used));
  }
  for (const Job& job : state.jobs()) {
    count(to_string(job.state));
    count("retry", static_cast<std::uint64_t>(job.retries_used));
    if (!is_over(job.state))
      wrong(now, fmt::format("job {} is still {}", job.id.value, to_string(job.state)));
  }
  for (const auto& [worker, process] : alive_)
    wrong(now, text(worker) + " is still alive on " + process.machine);
}

// What is durable is what was told, whoever reads it.
void Ledger::compare(Time now, Time servers, Store& store) {
  now_ = now;
  State fold;
  const auto entries = store.entries(1, truth_.seq() + 1);
  for (const Entry& entry : *entries) {
    if (entry.seq != fold.seq() + 1)
      return wrong(now, fmt::format("the store has entry {} after {}", entry.seq, fold.seq()));
    apply(fold, entry);
  }
  if (fold.parts() != truth_.parts() || store.load()->parts() != truth_.parts())
    wrong(now, "the store is not what the entries say");
  for (const auto& [id, promise] : promised_) {
    const auto& [name, uid] = promise;
    const auto known = store.find_submission(uid, name, servers);
    if (!known || *known != id) wrong(now, fmt::format("the key of job {} is not there", id.value));
    const auto launch = store.launch(id);
    if (was_dropped(now, store, id)) continue;
    if (!launch || launch->command != launch_of(name).command)
      wrong(now, fmt::format("the command of job {} is not there", id.value));
  }
  for (const Job& job : truth_.jobs()) oracle_.compare(store, job);
  compare_forgotten(now, store);
  oracle_.compare_done();
}

// Each is there once, whole, as it was when it was forgotten; and nobody else.
void Ledger::compare_forgotten(Time now, Store& store) {
  constexpr std::size_t kPage = 7;
  std::uint32_t from = 1;
  auto expected = forgotten_.begin();
  for (;;) {
    const auto page = store.forgotten(JobId{from}, kPage);
    if (!page || page->empty()) break;
    for (const Job& job : *page) {
      from = job.id.value + 1;
      while (expected != forgotten_.end() && was_dropped(now, store, expected->first)) ++expected;
      if (expected == forgotten_.end() || job != (expected++)->second)
        return wrong(now, fmt::format("job {} was forgotten as another one", job.id.value));
      oracle_.compare(store, job);
    }
  }
  while (expected != forgotten_.end() && was_dropped(now, store, expected->first)) ++expected;
  if (expected != forgotten_.end())
    wrong(now, fmt::format("job {} was forgotten and is not in the store", expected->first.value));
}

void Ledger::logs_removed(Time now, JobId job) {
  count("logs removed");
  without_logs_.insert(job);
  const auto left = forgotten_.find(job);
  if (left == forgotten_.end() || !is_over(left->second.state))
    return wrong(now, fmt::format("the logs of job {} are removed, and it is not over", job.value));
}

bool Ledger::was_dropped(Time now, Store& store, JobId id) {
  const auto found = store.remains(id);
  if (!found || !*found || (*found)->kept != Kept::nothing) return false;
  const Remains& left = **found;
  const auto job = forgotten_.find(id);
  const bool right = keep_ && job != forgotten_.end() && left.state == job->second.state &&
                     left.ended_at == job->second.ended_at && without_logs_.contains(id) &&
                     *left.dropped_at - left.ended_at >= 2 * *keep_;
  if (!right) wrong(now, fmt::format("job {} was dropped, and should not have been", id.value));
  oracle_.dropped(store, id);
  return true;
}

}  // namespace paceline::faults
