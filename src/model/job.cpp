#include "model/job.hpp"

#include <algorithm>
#include <tuple>

namespace paceline {

Bill& Bill::operator+=(const Bill& other) {
  preemption += other.preemption;
  resize += other.resize;
  failure += other.failure;
  return *this;
}

Bill& Bill::operator-=(const Bill& other) {
  preemption -= other.preemption;
  resize -= other.resize;
  failure -= other.failure;
  return *this;
}

Bill& Bill::operator/=(double divisor) {
  preemption /= divisor;
  resize /= divisor;
  failure /= divisor;
  return *this;
}

Duration Job::unsaved(Time until) const {
  if (current->lent_at) until = std::min(until, *current->lent_at);
  Time since = current->started_at.value_or(until);
  if (checkpoint) since = std::max(since, checkpoint->acknowledged_at);
  return current->unsaved + std::max(Duration::zero(), until - since);
}

std::int32_t Job::workers() const {
  if (current && !lends()) return current->size();
  return forming ? forming->size() : 0;
}

std::int32_t Job::planned_workers() const { return forming ? forming->size() : workers(); }

bool operator==(const Job& a, const Job& b) {
  const auto key = [](const Job& j) {
    return std::tie(j.id, *j.spec, j.range, j.pinned, j.state, j.held, j.current, j.forming,
                    j.parting, j.last_generation, j.attempt, j.retries_used, j.quick_failures,
                    j.refused, j.resizes, j.preemptions, j.submitted_at, j.eligible_at,
                    j.started_at, j.ended_at, j.last_resized_at, j.paused_at, j.changed_at,
                    j.waited, j.ran, j.paused, j.leased, j.slot_seconds, j.service_from, j.bill,
                    j.progress, j.checkpoint, j.kept, j.kept_at, j.model, j.target, j.ending,
                    j.last_change, j.last_changed_at, j.waiting_since, j.ran_at, j.saved_at,
                    j.told_at, j.usual_length, j.speeds, j.speed_mark, j.resize_pause,
                    j.resize_pauses, j.in_place_pause, j.in_place_pauses, j.dropped);
  };
  return key(a) == key(b);
}

const Worker* Job::find_worker(const ProcessKey& process) const {
  for (const auto* gang : {&current, &forming}) {
    const auto rank = *gang ? (*gang)->rank_of(process) : std::nullopt;
    if (rank) return &(*gang)->workers[static_cast<std::size_t>(*rank)];
  }
  const auto leaves = std::ranges::find(parting, process, &Parting::process);
  return leaves == parting.end() ? nullptr : &leaves->worker;
}

bool Job::resizes_in_place() const {
  const bool stays = state == JobState::running || awaits_replacements();
  return stays && current && !forming && parting.empty() && current->in_place &&
         spec->mesh.step() == 1 && std::ranges::all_of(current->workers, [](const Worker& worker) {
           return worker.state == WorkerState::running;
         });
}

bool Job::preemptible() const {
  return spec->preemptible && !should_stop() && !(current && current->any_ended());
}

std::optional<Time> Job::limit_at() const {
  const bool counts = state == JobState::running || state == JobState::resizing;
  if (!spec->max_duration || !counts) return std::nullopt;
  return changed_at + std::max(Duration::zero(), *spec->max_duration - ran);
}

std::optional<Time> Job::newcomers_since() const {
  if (state != JobState::running && !awaits_replacements()) return std::nullopt;
  return forms_in_place() ? forming->started_at : std::nullopt;
}

std::optional<Time> Job::short_since() const {
  const bool alone = awaits_replacements() && !forming && !current->stop;
  return alone ? std::optional(current->formed_at) : std::nullopt;
}

bool Job::begins_anew() const { return !checkpoint && spec->elastic != Elastic::restart; }

double Job::length_run() const {
  double seconds = 0;
  for (const RanAt& part : ran_at) seconds += to_seconds(part.span) * part.workers / range.want;
  return seconds;
}

bool Job::resizable() const {
  if (should_stop() || (current && current->any_ended())) return false;
  if (forms_in_place() || !parting.empty()) return false;
  switch (spec->elastic) {
    case Elastic::no:
      return false;
    case Elastic::restart:
      return true;
    case Elastic::automatic:
      return checkpoint.has_value() || resizes_in_place();
  }
  return false;
}

}  // namespace paceline
