// What is measured of running: time by size, rates, pauses, lengths. What is learned from it and what
// follows is for estimate/.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "estimate/learning.hpp"
#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "model/kind.hpp"
#include "plan/fold.hpp"

namespace paceline {
namespace {

constexpr double kShortestSpan = 0.05;  // seconds between reports that make a rate

std::int32_t nodes_of(const Gang& gang) {
  std::set<NodeId> nodes;
  for (const Worker& worker : gang.workers) nodes.insert(worker.seat.node);
  return static_cast<std::int32_t>(nodes.size());
}

// Many at once, so that a name costs little however many there are.
void forget_old_names(std::map<std::string, NameHistory>& names) {
  using Name = std::map<std::string, NameHistory>::iterator;
  std::vector<Name> by_age;
  by_age.reserve(names.size());
  for (auto name = names.begin(); name != names.end(); ++name) by_age.push_back(name);
  const auto kept = by_age.begin() + static_cast<std::ptrdiff_t>(kNamesForgotten);
  std::nth_element(by_age.begin(), kept, by_age.end(), [](const Name& a, const Name& b) {
    return std::tie(a->second.last, a->first) < std::tie(b->second.last, b->first);
  });
  for (auto old = by_age.begin(); old != kept; ++old) names.erase(*old);
}

}  // namespace

void Fold::count_running(Job& job, Duration passed) {
  if (passed == Duration::zero()) return;
  const std::int32_t workers = job.current->size();
  auto& parts = job.ran_at;
  const auto at =
      std::lower_bound(parts.begin(), parts.end(), workers,
                       [](const RanAt& part, std::int32_t n) { return part.workers < n; });
  if (at != parts.end() && at->workers == workers)
    at->span += passed;
  else
    parts.insert(at, {workers, passed});
}

// The rate between two reports of one generation counts for its size and place.
void Fold::measure_speed(Job& job, Generation generation) {
  const auto work = job.progress->work();
  if (!work || !std::isfinite(*work)) return;
  const SpeedMark mark{generation, job.progress->reported_at, *work};
  const auto before = std::exchange(job.speed_mark, mark);
  if (!before || before->generation != generation || job.state != JobState::running) return;
  const double seconds = to_seconds(mark.at - before->at);
  if (seconds < kShortestSpan || mark.work <= before->work) {
    if (mark.work == before->work) job.speed_mark = before;
    return;
  }
  const Gang& gang = *job.current;
  const SpeedPoint here{gang.size(), nodes_of(gang), devices_of(state_.nodes(), gang), 0, 0, 0};
  const auto key = [](const SpeedPoint& p) { return std::tie(p.workers, p.nodes, p.device); };
  auto& points = job.speeds;
  auto at = std::lower_bound(points.begin(), points.end(), here,
                             [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (at == points.end() || key(*at) != key(here)) {
    if (points.size() >= kSpeedPointsMax) return;
    at = points.insert(at, here);
  }
  learn_rate(*at, (mark.work - before->work) / seconds);
}

void Fold::measure_pause(Job& job, std::optional<Time> since) {
  learn_pause(job, to_seconds(at_ - since.value_or(at_)));
}

void Fold::measure_pause_in_place(Job& job) {
  learn_pause_in_place(job, to_seconds(at_ - *job.last_resized_at));
}

// Its report may have been on its way for a while. What a gang told that is gone counts as of the one before:
// its work is lost.
void Fold::note_progress(Job& job, const Progress& report) {
  const bool tells =
      report.step || report.samples || report.epoch || report.total_steps || report.total_epochs;
  if (!tells || !job.current || by_rules_before(6)) return;
  job.told_at = job.ran_at;
  if (job.state != JobState::running) return;
  const auto here = std::ranges::find(job.told_at, job.current->size(), &RanAt::workers);
  if (here == job.told_at.end()) return;
  here->span -= std::clamp(at_ - report.reported_at, Duration::zero(), here->span);
  if (here->span == Duration::zero()) job.told_at.erase(here);
}

// Those of its name that wait without a length of their own are told while the mean still moves:
// after the 1st, 2nd, 4th, 8th, … job.
void Fold::learn_length(const Job& job) {
  auto& names = parts_.names;
  const auto [known, fresh] = names.try_emplace(kind_of(*job.spec));
  NameHistory& history = known->second;
  const double seconds = by_rules_before(6) ? job.length_run() : length_run(job, at_);
  paceline::learn_length(history, seconds, at_);
  const bool moves = std::has_single_bit(history.completed);
  if (fresh && names.size() > kNamesMax) forget_old_names(names);
  if (!moves) return;
  const auto waiting = state_.without_length_.find(known->first);
  if (waiting == state_.without_length_.end()) return;
  for (const JobId id : waiting->second) recall_length(touch(id));
}

void Fold::recall_length(Job& job) {
  const auto known = parts_.names.find(kind_of(*job.spec));
  if (known == parts_.names.end()) return;
  job.usual_length = from_seconds(known->second.seconds);
}

void Fold::bill(Job& job, double Bill::*cause, double slot_seconds) {
  job.bill.*cause += slot_seconds;
  if (!parts_.periods.empty()) parts_.periods.back().lost.*cause += slot_seconds;
  if (cause != &Bill::failure) bill_plan(job.last_changed_at, cause, slot_seconds);
}

// What a job loses by being stopped or resized, the newest plan that changed it has caused.
void Fold::bill_plan(Time planned, double Bill::*cause, double slot_seconds) {
  auto& bills = parts_.bills;
  const auto plan = std::lower_bound(bills.begin(), bills.end(), planned,
                                     [](const PlanBill& one, Time at) { return one.at < at; });
  if (plan != bills.end() && plan->at == planned) plan->lost.*cause += slot_seconds;
}

}  // namespace paceline
