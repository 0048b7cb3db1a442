#include "scheduler/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "model/device_model.hpp"
#include "model/unmet.hpp"
#include "plan/protection.hpp"
#include "plan/reclaim.hpp"
#include "policy/patient.hpp"
#include "policy/settle.hpp"
#include "scheduler/room.hpp"

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
  if (e.cause == Cause::missing) return "could not be started: its files are not on the node";
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

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string stop_sentence(const Stop& stop) {
  switch (stop.cause) {
    case Cause::preempted:
      return stop.beneficiary ? fmt::format("job {} takes its slots", stop.beneficiary->value)
                              : "its node drains";
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

// "node box starts nothing for 4 s more: …"
std::string refusal_clause(const Node& node, Time now) {
  if (node.drains())
    return fmt::format("node {} {}, and starts nothing{}", node.spec.name,
                       node.drain->order.keeps ? "is set aside" : "drains",
                       node.drain->order.reason.empty() ? "" : ": " + node.drain->order.reason);
  if (node.spec.refusal->unhealthy)
    return fmt::format("node {} is unhealthy and starts nothing: {}", node.spec.name,
                       node.spec.refusal->why);
  const double left = std::ceil(std::max(0.0, to_seconds(node.spec.refusal->until - now)));
  return fmt::format("node {} starts nothing for {:.0f} s more: {}", node.spec.name, left,
                     node.spec.refusal->why);
}

bool refuses(const Node& node) { return node.up && (node.spec.refusal || node.drains()); }

// Where all nodes that are up refuse.
const Node* only_refusals(const State& state) {
  const Node* first = nullptr;
  for (const Node& node : state.nodes()) {
    if (node.up && !refuses(node)) return nullptr;
    if (first == nullptr && refuses(node)) first = &node;
  }
  return first;
}

// Where nodes are up and none of their slots can be used; empty: no node is up.
std::string only_unusable(const State& state) {
  for (const Node& node : state.nodes()) {
    for (std::size_t i = 0; node.up && i < node.spec.slots.size(); ++i) {
      const SlotSpec& slot = node.spec.slots[i];
      if (!slot.usable)
        return fmt::format("no slot can be used now; slot {} of node {}: {}", i, node.spec.name,
                           slot.note.empty() ? "out of order" : slot.note);
    }
  }
  return {};
}

std::string times(std::size_t n) { return n == 1 ? "once" : fmt::format("{} times", n); }

// "12 min", "3.5 h": as exact as it is worth.
std::string span(Duration duration) {
  const double minutes = std::max(0.0, to_seconds(duration) / 60);
  if (minutes < 90) return fmt::format("{:.0f} min", std::ceil(minutes));
  return fmt::format("{:.1f} h", minutes / 60);
}

// The same with seconds, as long as they matter.
std::string near_span(Duration duration) {
  const double seconds = std::max(0.0, to_seconds(duration));
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : span(duration);
}

// Of one that ran, and has not met it.
void add_target(const Job& job, std::vector<std::string>& lines) {
  if (!job.spec->target || !job.started_at || job.should_stop()) return;
  const std::string& metric = job.spec->target->metric;
  if (job.progress && job.progress->metrics.contains(metric)) return;
  lines.push_back(
      fmt::format("No report named {} so far, so its target can't be met: 'paceline show {}' tells "
                  "how to report it.",
                  metric, job.id.value));
}

std::string kept_sentence(const Waits::Kept& kept, Time now) {
  std::string when = "as soon as its workers fit there";
  if (kept.last && kept.at)
    when = fmt::format("when job {} ends, likely in {}", kept.last->value, span(*kept.at - now));
  else if (kept.last)
    when = fmt::format("when job {} ends; its length is unknown", kept.last->value);
  return fmt::format("{} of the {} slots kept for it are free. It starts {}.", kept.free,
                     kept.slots, when);
}

// Of one that ends there by itself; 0: it does not.
std::int64_t lease_seconds(const Job& job, const Node& node) {
  if (!node.spec.lease || job.spec->on_disconnect == OnDisconnect::go_on) return 0;
  return std::chrono::ceil<std::chrono::seconds>(*node.spec.lease).count();
}

}  // namespace

Explanation::Explanation(const Snapshot& snapshot, const Policy* policy, const Placer& placer,
                         Protects protects, const ComingNodes& coming)
    : snapshot_(snapshot), protects_(protects), coming_(coming) {
  if (!policy) return;
  limits_ = policy->loss_limits();
  Draft draft(snapshot, placer, protects);
  draft.explain();
  (void)decide(draft, decider(*policy));
  waits_ = draft.waits();
  patience_ = policy->patience();
  find_kept(draft);
  refused_ = draft.refused();
}

// The memo tells, not the draft: slots that the round opened to jobs that end in time stay kept.
void Explanation::find_kept(const Draft& draft) {
  if (patience_ == nullptr) return;
  auto kept = Reservation::parse(draft.memo(kReservation));
  if (!kept || draft.changed(kept->job) || !holds(snapshot_.state, *kept)) return;
  outlook_ = outlook(draft, kept->slots);
  kept_ = std::move(kept);
}

Reason Explanation::reason(const Job& job, Viewer viewer) const {
  switch (job.state) {
    case JobState::pending: {
      Reason why = waiting(job);
      const bool told = why.code == ReasonCode::backs_off && job.refused;
      if (told && viewer == Viewer::owner) why.text = without_full_stop(job.refused->why);
      return why;
    }
    case JobState::starting:
      return starting(job);
    case JobState::running:
      return running(job);
    case JobState::resizing: {
      if (job.awaits_replacements())
        return {ReasonCode::awaits_replacements, {job.workers(), job.range.min}, {}};
      if (is_to_stand(job)) return {ReasonCode::meets_anew, {job.workers()}, {}};
      const auto from = job.current && job.forming ? job.current->size() : 0;
      if (from == 0) return starting(job);
      return {ReasonCode::resizing, {from, job.planned_workers()}, {}};
    }
    case JobState::paused:
      if (!job.lends()) return {ReasonCode::paused, {}, {}};
      return job.forming ? starting(job) : waiting(job);
    case JobState::stopping:
      return {ReasonCode::stopping, {}, why_stopping(job)};
    default:
      return {ReasonCode::ended, {}, ending_sentence(job, viewer)};
  }
}

// One whose resize was called off, too (Fold::give_back).
std::string Explanation::why_stopping(const Job& job) const {
  const Stop& stop = *job.current->stop;
  if (stop.cause != Cause::resized || job.forming) return stop_sentence(stop);
  const Node* node = node_not_heard(snapshot_.state, job);
  return fmt::format("{}it goes back to the queue once its workers have ended",
                     node == nullptr ? "" : node->spec.name + " isn't heard: ");
}

Reason Explanation::waiting(const Job& job) const {
  const State& state = snapshot_.state;
  if (job.held) return {ReasonCode::held, {}, {}};
  std::int64_t open = 0;
  JobId first;
  for (const JobId id : job.spec->after) {
    const Job* before = state.find_job(id);
    if (before ? before->state == JobState::completed : state.is_forgotten(id)) continue;
    if (open++ == 0) first = id;
  }
  if (open > 0) return {ReasonCode::waits_for_jobs, {open, first.value}, {}};
  if (state.slots_available() == 0) {
    std::string why = only_unusable(state);
    const auto code = why.empty() ? ReasonCode::no_node : ReasonCode::node_refuses;
    return {code, {}, std::move(why)};
  }
  if (const Node* node = only_refusals(state))
    return {ReasonCode::node_refuses, {}, refusal_clause(*node, snapshot_.now)};
  // It was taken when there were nodes for it.
  const auto fits = fits_some_day(state, *job.spec, job.range.min, coming_);
  if (!job.lends() && !fits) return {ReasonCode::fits_nowhere, {}, fits.error().message};
  const auto wait = waits_.find(job.id);
  if (wait != waits_.end()) return wait->second;
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
  if (promised == 0 && job.checkpoint && job.checkpoint->place)
    return {ReasonCode::awaits_checkpoint, {}, job.checkpoint->place->node};
  return {ReasonCode::waits_for_empty, {promised}, {}};
}

Reason Explanation::running(const Job& job) const {
  if (job.should_stop()) return {ReasonCode::target_reached, {job.workers()}, {}};
  if (const Node* node = node_not_heard(snapshot_.state, job))
    return {ReasonCode::node_away, {job.workers(), lease_seconds(job, *node)}, node->spec.name};
  if (job.is_asked()) return asked(job);
  if (job.forms_in_place())
    return {ReasonCode::awaits_newcomers, {job.workers(), job.planned_workers()}, {}};
  if (const auto wait = waits_.find(job.id); wait != waits_.end()) return wait->second;
  return {ReasonCode::runs, {job.workers(), job.range.max}, {}};
}

Reason Explanation::asked(const Job& job) const {
  const Duration left = may_stop_from(snapshot_, job) - snapshot_.now;
  const auto whole = [](Duration span) {
    return std::chrono::ceil<std::chrono::seconds>(span).count();
  };
  return {ReasonCode::asked,
          {job.slots(job.current->size()), job.current->asked->by.value,
           whole(std::max(left, Duration::zero())), whole(job.unsaved(snapshot_.now))},
          {}};
}

std::vector<std::string> Explanation::lines(const Job& job, Viewer viewer) const {
  std::vector<std::string> lines{with_full_stop(fmt::format(
      "Job {} ({}) {}", job.id.value, to_string(job.state), sentence(reason(job, viewer))))};
  if (job.last_change.code != ReasonCode::none) {
    lines.push_back(fmt::format("Last decision, {} ago: it {}.",
                                near_span(snapshot_.now - job.last_changed_at),
                                sentence(job.last_change)));
  }
  if (const auto r = refused_.find(job.id); r != refused_.end() && job.state == JobState::running) {
    lines.push_back(fmt::format("Considered now: it {}.", sentence(r->second)));
  } else if (const auto wait = waits_.find(job.id);
             wait != waits_.end() && wait->second.code == ReasonCode::waits_for_node) {
    lines.push_back(fmt::format("Considered now: it {}.", sentence(wait->second)));
  }
  if (job.current && viewer == Viewer::owner) {
    const std::int32_t size = job.current->size();
    for (const Warning warning : job.current->warnings)
      lines.push_back(fmt::format("Look at it: {}.",
                                  sentence(warning, size, size * job.spec->slots_per_worker)));
  }
  if (viewer == Viewer::owner) {
    add_target(job, lines);
    add_devices(job, lines);
  }
  add_deadline(job, lines);
  add_protection(job, lines);
  if (job.state == JobState::running && !job.checkpoint &&
      job.spec->elastic == Elastic::automatic && job.range.min < job.range.max) {
    lines.push_back(
        "Its size stays until it acknowledges a checkpoint: then it can be resized without losing "
        "work.");
  }
  if (job.state == JobState::running && job.is_asked()) {
    lines.push_back(
        "It has acknowledged no checkpoint yet, so it would begin anew: with one it goes on from "
        "there.");
  }
  if (job.lends()) {
    const Node* node = node_not_heard(snapshot_.state, job);
    lines.push_back(
        node == nullptr
            ? "Its slots are lent: it goes on in them once they are free, or starts anew elsewhere "
              "when it has waited for as long as that would lose."
            : fmt::format("Its slots are lent: it goes on in them once they are free and {} is "
                          "heard again.",
                          node->spec.name));
  }
  if ((job.state == JobState::pending || job.lends()) && !job.held) {
    add_refusals(job, lines);
    add_patience(job, lines);
    add_queue(job, lines);
    add_holders(lines);
  }
  return lines;
}

// Where its end is told by what isn't known of the devices that it may get, or has.
void Explanation::add_devices(const Job& job, std::vector<std::string>& lines) const {
  if (is_over(job.state) || length_source(job) == LengthSource::unknown) return;
  const auto measured = [&](std::string_view device) {
    return std::ranges::find(job.speeds, device, &SpeedPoint::device) != job.speeds.end();
  };
  if (job.current && measured(devices_of(snapshot_.state.nodes(), *job.current))) return;
  std::vector<std::string_view> serve, unmeasured;
  for (const std::string& model : snapshot_.state.topology().models()) {
    if (!takes_device(*job.spec, model)) continue;
    serve.push_back(model);
    if (!measured(model)) unmeasured.push_back(model);
  }
  if (serve.size() < 2 || unmeasured.empty()) return;
  lines.push_back(fmt::format(
      "Devices count as equally fast for it until it reports from them: {} {} not measured yet.",
      fmt::join(unmeasured, ", "), unmeasured.size() == 1 ? "is" : "are"));
}

// One that passed, or that is missed even with as many workers as the job may have from now on.
void Explanation::add_deadline(const Job& job, std::vector<std::string>& lines) const {
  const auto deadline = snapshot_.state.deadline(job);
  if (!deadline || is_over(job.state)) return;
  const Duration in = *deadline - snapshot_.now;
  if (in <= Duration::zero())
    return lines.push_back(fmt::format("Its deadline passed {} ago.", near_span(-in)));
  const auto left = remaining(snapshot_.state.nodes(), job, snapshot_.now, job.range.max);
  if (left && left->likely > in)
    lines.push_back(
        fmt::format("Its deadline can't be met: it is in {}, and the job is likely to run {} more.",
                    near_span(in), near_span(left->likely)));
}

// From when on others may have its slots, where that isn't now.
void Explanation::add_protection(const Job& job, std::vector<std::string>& lines) const {
  if (protects_ == Protects::no || !may_stop(job)) return;
  const auto from = may_change_from(snapshot_, job, ChangeKind::stop, limits_, Owed::no);
  if (!from) {
    lines.push_back(fmt::format("It is stopped for others only where they are owed its slots{}.",
                                job.begins_anew() ? ", and is asked before" : ""));
  } else if (*from > snapshot_.now) {
    lines.push_back(
        fmt::format("It may be stopped for others again in {}.", span(*from - snapshot_.now)));
  }
}

// But for the one that is the job's reason already.
void Explanation::add_refusals(const Job& job, std::vector<std::string>& lines) const {
  const bool is_reason = waiting(job).code == ReasonCode::node_refuses;
  const Node* const told = is_reason ? only_refusals(snapshot_.state) : nullptr;
  int listed = 0;
  for (const Node& node : snapshot_.state.nodes()) {
    if (!refuses(node) || &node == told) continue;
    if (++listed > kListedMax) break;
    lines.push_back(fmt::format("For now {}.", refusal_clause(node, snapshot_.now)));
  }
}

std::optional<Waits> Explanation::waits(const Job& job) const {
  if (!snapshot_.state.waiting().contains(queue_key(job))) return std::nullopt;
  Waits waits{passes_of(snapshot_.state, job), {}, {}};
  if (patience_ != nullptr) waits.patience_until = patience_->runs_out(job);
  if (kept_ && kept_->job == job.id)
    waits.kept = Waits::Kept{kept_->slots.size(), outlook_.free, outlook_.last, outlook_.at};
  return waits;
}

void Explanation::add_patience(const Job& job, std::vector<std::string>& lines) const {
  const auto waits = this->waits(job);
  if (!waits) return;
  if (const auto& [count, last] = waits->passed; count > 0) {
    std::string ids;
    for (const JobId id : last) ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id.value);
    lines.push_back(fmt::format("Passed over {}: by job{} {}{}.", times(count),
                                last.size() == 1 ? "" : "s", ids,
                                count > last.size() ? " of late" : ""));
  }
  if (!waits->patience_until) return;
  const Duration left = *waits->patience_until - snapshot_.now;
  if (left > Duration::zero())
    return lines.push_back(
        fmt::format("Its patience runs out in {}: then slots are kept for it.", span(left)));
  lines.push_back(fmt::format("Its patience ran out {} ago.", span(-left)));
  lines.push_back(waits->kept ? kept_sentence(*waits->kept, snapshot_.now)
                              : "Slots are kept for one job at a time: others come first.");
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
    lines.push_back(fmt::format("Job {} '{}' has {} of {} slots and {}.", other.id.value,
                                other.spec->name, other.leased, state.slots_available(),
                                sentence(reason(other))));
  }
}

}  // namespace paceline
