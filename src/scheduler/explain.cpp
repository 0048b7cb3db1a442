#include "scheduler/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/decide.hpp"

namespace paceline {
namespace {

constexpr int kListedMax = 5;

// These are the server's own words, and hold nothing of the owner's.
bool is_said_by_us(Cause cause) {
  return cause == Cause::cancelled || cause == Cause::timed_out ||
         cause == Cause::dependency_failed || cause == Cause::crash_loop;
}

std::string ending_sentence(const Job& job, Viewer viewer) {
  const Ending& e = *job.ending;
  if (!e.message.empty() && (viewer == Viewer::owner || is_said_by_us(e.cause))) return e.message;
  if (e.cause == Cause::signalled) return fmt::format("ended by signal {}", e.signal);
  if (e.cause == Cause::out_of_memory)
    return "killed for using more memory than its limit: submit with more --memory";
  if (e.cause == Cause::launch_failed) return "could not be started";
  if (e.cause == Cause::setup_failed) return "failed in its setup";
  if (e.cause == Cause::node_lost) return "was lost with its node";
  if (e.exit_code) return fmt::format("exited with code {}", *e.exit_code);
  return std::string(to_string(e.cause));
}

// What an agent tells of an end may be a whole sentence, with its full stop.
std::string with_full_stop(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

std::string stop_sentence(const Stop& stop) {
  switch (stop.cause) {
    case Cause::preempted:
      return stop.beneficiary ? fmt::format("job {} takes its slots", stop.beneficiary->value)
                              : "its slots are needed";
    case Cause::resized:
      return "its next generation forms";
    case Cause::cancelled:
      return "its owner cancelled it";
    case Cause::timed_out:
      return "max_duration is over";
    case Cause::requeue_asked:
      return "it asked to be requeued";
    default:
      return "one of its workers failed";
  }
}

}  // namespace

Explanation::Explanation(const Snapshot& snapshot, const Policy* policy, const Placer& placer,
                         const Judge& judge)
    : snapshot_(snapshot) {
  if (!policy) return;
  Draft draft(snapshot, placer, judge);
  draft.explain();
  decide(snapshot, *policy, draft);
  holds_ = draft.holds();
  for (const auto& [job, reason] : draft.dropped()) dropped_.emplace(job, *reason);
}

Reason Explanation::reason(const Job& job, Viewer viewer) const {
  switch (job.state) {
    case JobState::pending:
      return waiting(job);
    case JobState::starting:
      return starting(job);
    case JobState::running:
      return running(job);
    case JobState::resizing: {
      const auto from = job.current && job.forming ? job.current->size() : 0;
      if (from == 0) return starting(job);
      return {ReasonCode::resizing, {from, job.planned_workers()}, {}};
    }
    case JobState::paused:
      if (!job.lends()) return {ReasonCode::paused, {}, {}};
      return job.forming ? starting(job) : waiting(job);
    case JobState::stopping:
      return {ReasonCode::stopping, {}, stop_sentence(*job.current->stop)};
    default:
      return {ReasonCode::ended, {}, ending_sentence(job, viewer)};
  }
}

Reason Explanation::waiting(const Job& job) const {
  const State& state = snapshot_.state;
  if (job.held) return {ReasonCode::held, {}, {}};
  std::int64_t open = 0;
  JobId first;
  for (const JobId id : job.spec->after) {
    const Job* before = state.find_job(id);
    if (before && before->state == JobState::completed) continue;
    if (open++ == 0) first = id;
  }
  if (open > 0) return {ReasonCode::waits_for_jobs, {open, first.value}, {}};
  if (state.slots_available() == 0) return {ReasonCode::no_node, {}, {}};
  const auto dropped = dropped_.find(job.id);
  if (dropped != dropped_.end()) return dropped->second;
  const auto hold = holds_.find(job.id);
  if (hold != holds_.end()) return hold->second;
  return {ReasonCode::waits_for_turn, {job.range.min}, {}};
}

Reason Explanation::starting(const Job& job) const {
  if (!job.forming) {
    const auto& workers = job.current->workers;
    const auto up = std::count_if(workers.begin(), workers.end(),
                                  [](const Worker& w) { return w.state != WorkerState::assigned; });
    return {ReasonCode::starting, {up, job.current->size()}, {}};
  }
  std::int64_t promised = 0;
  for (const Worker& worker : job.forming->workers) {
    for (const auto index : worker.seat.slots) {
      if (snapshot_.state.slot({worker.seat.node, index}).promise) ++promised;
    }
  }
  return {ReasonCode::waits_for_empty, {promised}, {}};
}

Reason Explanation::running(const Job& job) const {
  if (job.should_stop()) return {ReasonCode::target_reached, {job.workers()}, {}};
  if (const auto hold = holds_.find(job.id); hold != holds_.end()) return hold->second;
  return {ReasonCode::runs, {job.workers(), job.range.max}, {}};
}

std::vector<std::string> Explanation::lines(const Job& job, Viewer viewer) const {
  std::vector<std::string> lines{with_full_stop(fmt::format(
      "Job {} ({}) {}", job.id.value, to_string(job.state), sentence(reason(job, viewer))))};
  if (job.last_change.code != ReasonCode::none) {
    const auto ago = to_seconds(snapshot_.now - job.last_changed_at);
    lines.push_back(fmt::format("Last decision, {:.0f} s ago: it {}.", std::max(0.0, ago),
                                sentence(job.last_change)));
  }
  if (const auto d = dropped_.find(job.id); d != dropped_.end() && job.state == JobState::running) {
    lines.push_back(fmt::format("Considered now: it {}.", sentence(d->second)));
  }
  if (job.state == JobState::running && !job.checkpoint &&
      job.spec->elastic == Elastic::automatic && job.range.min < job.range.max) {
    lines.push_back(
        "Its size stays until it acknowledges a checkpoint: then it can be resized without losing "
        "work.");
  }
  if (job.lends()) {
    lines.push_back(
        "Its slots are lent: it goes on in them once they are free, or starts anew elsewhere when "
        "it has waited for as long as that would lose.");
  }
  if ((job.state == JobState::pending || job.lends()) && !job.held) {
    add_queue(job, lines);
    add_holders(lines);
  }
  return lines;
}

void Explanation::add_queue(const Job& job, std::vector<std::string>& lines) const {
  int ahead = 0;
  for (const auto& key : snapshot_.state.waiting()) {
    if (key.job == job.id) break;
    if (++ahead > kListedMax) continue;
    const Job& other = snapshot_.state.job(key.job);
    lines.push_back(fmt::format("Ahead: job {} '{}' (priority {}) {}.", other.id.value,
                                other.spec->name, other.spec->priority, sentence(waiting(other))));
  }
  if (ahead > kListedMax) lines.push_back(fmt::format("… and {} more ahead.", ahead - kListedMax));
}

void Explanation::add_holders(std::vector<std::string>& lines) const {
  const State& state = snapshot_.state;
  int listed = 0;
  for (const auto& key : state.active()) {
    if (++listed > kListedMax) break;
    const Job& other = state.job(key.job);
    lines.push_back(fmt::format("Job {} '{}' holds {} of {} slots and {}.", other.id.value,
                                other.spec->name, other.leased, state.slots_available(),
                                sentence(reason(other))));
  }
}

}  // namespace paceline
