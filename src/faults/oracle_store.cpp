// What is kept of what workers wrote, and what the store has in the end.
#include <fmt/format.h>

#include <algorithm>

#include "faults/oracle.hpp"
#include "faults/worker_text.hpp"
#include "store/point_choice.hpp"

namespace paceline::faults {
namespace {

constexpr std::size_t kPointsAtOnce = 1'000;

ProcessKey worker_of(const MetricPoint& point) { return {point.job, point.born, point.number}; }

std::string name_of(const MetricPoint& point) {
  return fmt::format("report {} of {}", point.report, text(worker_of(point)));
}

// But for the time, which is told by another clock.
bool same(const MetricPoint& a, const MetricPoint& b) {
  return a.step == b.step && a.samples == b.samples && a.values == b.values;
}

}  // namespace

const MetricPoint* Oracle::find_written(const MetricPoint& point) const {
  const auto worker = written_.find(worker_of(point));
  if (worker == written_.end()) return nullptr;
  const auto found =
      std::ranges::lower_bound(worker->second, point.report, {}, &MetricPoint::report);
  return found != worker->second.end() && found->report == point.report ? &*found : nullptr;
}

void Oracle::check_written(const MetricPoint& point) {
  const MetricPoint* written = find_written(point);
  if (!written)
    wrong_(name_of(point) + " is stored, and nobody wrote it");
  else if (!same(point, *written))
    wrong_(name_of(point) + " is stored otherwise than it was written");
}

// Where a machine was given up, nobody reads its logs: the ending is the server's own word, not the
// machine's.
bool Oracle::was_heard_out(const ProcessKey& worker, const Ending& ending) const {
  const auto end = ends_.find(worker);
  if (end == ends_.end() || unread_.contains(worker)) return false;
  return ending.cause != Cause::node_lost ||
         (end->second.cause == Cause::node_lost && end->second.message == ending.message);
}

void Oracle::at_rest() {
  for (const auto& [worker, ending] : endings_) {
    if (!was_heard_out(worker, ending) || !members_.contains(worker)) continue;
    check_missing(checkpoints_, worker);
    check_missing(models_, worker);
  }
  check_missing();
}

void Oracle::check_missing(const Saves& saves, const ProcessKey& worker) {
  const auto made = saves.by_process.find(worker);
  if (made == saves.by_process.end()) return;
  for (const auto& [job, generation, step] : made->second) {
    if (!is_journalled(saves, worker, step))
      wrong_(fmt::format("{} saved a {} at step {}, and it is not in the journal", text(worker),
                         saves.noun, step));
  }
}

void Oracle::check_missing() {
  for (const auto& [worker, ending] : endings_) {
    if (!was_heard_out(worker, ending)) continue;
    std::int64_t may_miss = passed_over_[worker];
    for (const MetricPoint& point : written_[worker]) {
      if (is_stored(point)) continue;
      if (may_miss-- <= 0) return wrong_(name_of(point) + " was written and is not stored");
    }
  }
  for (const auto& [worker, passed] : passed_over_) {
    const auto& written = written_[worker];
    const auto missing =
        std::ranges::count_if(written, [&](const MetricPoint& point) { return !is_stored(point); });
    if (passed < 0 || passed > missing)
      wrong_(fmt::format("{} of {}'s reports were passed over, and {} are not stored", passed,
                         text(worker), missing));
  }
}

bool Oracle::is_stored(const MetricPoint& point) const {
  return stored_.contains({point.job, point.born, point.number, point.report});
}

// ---- the store ----

// What was told again after a crash may be kept where it was passed over before: then it comes late.
void Oracle::compare(Store& store, const Job& job) {
  std::int64_t passed = 0;
  for (const auto& [process, points] : passed_over_)
    if (process.job == job.id) passed += points;
  if (const auto told = store.passed_over(job.id); !told || std::cmp_not_equal(*told, passed))
    wrong_(fmt::format("of job {} {} points were passed over, and {} are told", job.id.value,
                       passed, told.value_or(0)));
  const auto left = store.remains(job.id);
  const bool thinned = left && *left && (*left)->kept == Kept::thinned;
  std::map<ProcessKey, std::uint64_t> newest;
  std::uint64_t number = 0, points = 0;
  for (;;) {
    const auto page = store.points(job.id, "", number + 1, kPointsAtOnce);
    if (!page || page->points.empty()) break;
    for (const NumberedPoint& each : page->points) {
      const MetricPoint& point = each.point;
      ++points;
      if (each.number != ++number && !thinned)
        wrong_(fmt::format("{} is point {} of its job, and not {}", name_of(point), each.number,
                           number));
      number = each.number;
      const bool late = point.report <= std::exchange(newest[worker_of(point)], point.report);
      if (late && !passes_over_) wrong_(name_of(point) + " comes too late");
      if (!there_.insert({point.job, point.born, point.number, point.report}).second)
        wrong_(name_of(point) + " is there twice");
      check_written(point);
      check_tiers(job, point.values, name_of(point));
    }
  }
  if (thinned) check_thinned(**left, job.id, number, points);
}

// In each of so many stretches one stays at least, and the newest does.
void Oracle::check_thinned(const Remains& left, JobId job, std::uint64_t newest,
                           std::uint64_t points) {
  if (newest != left.points || points < std::min(left.points, kThinnedPoints))
    wrong_(fmt::format("of job {}'s {} points {} are left, the newest of them {}", job.value,
                       left.points, points, newest));
  thinned_out_[job] = left.points - std::min(points, left.points);
}

void Oracle::dropped(Store& store, JobId job) {
  dropped_.insert(job);
  const auto page = store.points(job, "", 1, 1);
  if (!page || !page->points.empty())
    wrong_(fmt::format("job {} was dropped, and has points", job.value));
}

void Oracle::compare_done() {
  for (const auto& [job, generation, rank, report] : stored_) {
    if (dropped_.contains(job) || there_.contains({job, generation, rank, report})) continue;
    std::uint64_t& may_miss = thinned_out_[job];
    if (may_miss > 0)
      --may_miss;
    else
      wrong_(fmt::format("report {} of {} was stored and is not there", report,
                         text(ProcessKey{job, generation, rank})));
  }
}

}  // namespace paceline::faults
