#include "scheduler/reports.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline {
namespace {

struct Merged {
  Progressed last;
  bool delivered = false;  // told already in this batch
  bool reached = false;
  bool all_told = false;  // nothing came after what was told already
};

bool meets_first(const Job* job, const Progress& report, Merged& merged) {
  if (!job || !job->spec->target) return false;
  const Target& target = *job->spec->target;
  const auto metric = report.metrics.find(target.metric);
  if (metric == report.metrics.end()) return false;
  const auto first = [&](bool& told, const std::optional<Time>& known, double threshold) {
    return !known && meets(target, threshold, metric->second) && !std::exchange(told, true);
  };
  const bool delivers = first(merged.delivered, job->target.delivered_at, target.deliver);
  return first(merged.reached, job->target.reached_at, target.final) || delivers;
}

// Which jobs something else is told of.
struct Concerned {
  std::set<JobId> jobs;
  bool all = false;

  explicit Concerned(std::span<const Event> events) {
    for (const Event& event : events) std::visit([&](const auto& e) { see(e); }, event);
  }
  [[nodiscard]] bool holds(JobId job) const { return all || jobs.contains(job); }

 private:
  void see(const Progressed&) {}
  template <class E>
  void see(const E& e) {
    if constexpr (requires { e.worker.job; })
      jobs.insert(e.worker.job);
    else if constexpr (requires { e.job; })
      jobs.insert(e.job);
    else
      all = true;
  }
};

// Together with what the same generation is told before it in this step, as merge_reports() has it: so a
// replay, which is told what was journalled, comes to the same.
void follow_on(Progressed& report, const std::vector<Progressed>& told) {
  const auto before = std::find_if(told.rbegin(), told.rend(), [&](const Progressed& each) {
    return each.job == report.job && each.generation == report.generation;
  });
  if (before == told.rend()) return;
  Progress both = before->report;
  merge(both, report.report);
  report.report = std::move(both);
}

}  // namespace

std::vector<MergedReport> merge_reports(const State& state, std::span<const Event> events) {
  std::map<std::pair<JobId, Generation>, Merged> merged;
  std::vector<MergedReport> told;
  for (const Event& event : events) {
    const auto* report = std::get_if<Progressed>(&event);
    if (!report) continue;
    const auto [it, fresh] = merged.try_emplace({report->job, report->generation}, Merged{*report});
    auto& one = it->second;
    if (!fresh) merge(one.last.report, report->report);
    one.all_told = meets_first(state.find_job(report->job), report->report, one);
    if (one.all_told) told.push_back({one.last, true});
  }
  for (auto& [key, one] : merged) {
    if (!one.all_told) told.push_back({std::move(one.last)});
  }
  return told;
}

ReportSpacing::Spaced ReportSpacing::take(std::vector<MergedReport> merged,
                                          std::span<const Event> events, Time now) {
  Spaced spaced;
  if (merged.empty() && jobs_.empty()) return spaced;
  const Concerned concerned(events);
  std::set<JobId> reported;
  std::vector<Progressed> tiers;
  for (auto& [report, meets_tier] : merged) {
    reported.insert(report.job);
    follow_on(report, tiers);
    const bool at_once = meets_tier || concerned.holds(report.job);
    add(std::move(report), at_once, now, meets_tier ? tiers : spaced.journalled);
  }
  for (const JobId job : due(concerned.all ? Time::max() : now)) hand_on(job, now, spaced);
  for (const JobId job : concerned.jobs) hand_on(job, now, spaced);
  for (const JobId job : reported) {
    const auto found = jobs_.find(job);
    if (found != jobs_.end() && found->second.waiting)
      spaced.unjournalled.push_back(*found->second.waiting);
  }
  // In the order of merge_reports(), which a replay keeps to.
  std::ranges::sort(spaced.journalled, {}, [](const Progressed& report) {
    return std::pair(report.job, report.generation);
  });
  spaced.journalled.insert(spaced.journalled.begin(), tiers.begin(), tiers.end());
  return spaced;
}

std::optional<Time> ReportSpacing::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

// Together with what of the same generation waits.
void ReportSpacing::add(Progressed report, bool at_once, Time now,
                        std::vector<Progressed>& journalled) {
  const auto [found, fresh] = jobs_.try_emplace(report.job, Reporting{now, std::nullopt});
  auto& [due, waiting] = found->second;
  if (fresh) due_.emplace(due, report.job);
  if (waiting && waiting->generation == report.generation) {
    merge(waiting->report, report.report);
    report = std::move(*waiting);
  } else if (waiting) {
    journalled.push_back(std::move(*waiting));
  }
  waiting.reset();
  if (!at_once && due > now) {
    waiting = std::move(report);
    return;
  }
  put_off(report.job, now);
  journalled.push_back(std::move(report));
}

void ReportSpacing::put_off(JobId job, Time now) {
  Time& due = jobs_.at(job).due;
  due_.erase({due, job});
  due = now + interval_;
  due_.emplace(due, job);
}

std::vector<JobId> ReportSpacing::due(Time by) const {
  std::vector<JobId> jobs;
  for (auto each = due_.begin(); each != due_.end() && each->first <= by; ++each)
    jobs.push_back(each->second);
  return jobs;
}

// A job that let the interval pass without a report may tell its next one at once.
void ReportSpacing::hand_on(JobId job, Time now, Spaced& spaced) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  if (auto waiting = std::exchange(found->second.waiting, std::nullopt)) {
    spaced.journalled.push_back(std::move(*waiting));
    put_off(job, now);
  } else if (found->second.due <= now) {
    due_.erase({found->second.due, job});
    jobs_.erase(found);
  }
}

}  // namespace paceline
