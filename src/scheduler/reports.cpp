#include "scheduler/reports.hpp"

#include <map>
#include <utility>

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

}  // namespace

std::vector<Progressed> merge_reports(const State& state, std::span<const Event> events) {
  std::map<std::pair<JobId, Generation>, Merged> merged;
  std::vector<Progressed> told;
  for (const Event& event : events) {
    const auto* report = std::get_if<Progressed>(&event);
    if (!report) continue;
    const auto [it, fresh] = merged.try_emplace({report->job, report->generation}, Merged{*report});
    auto& one = it->second;
    if (!fresh) merge(one.last.report, report->report);
    one.all_told = meets_first(state.find_job(report->job), report->report, one);
    if (one.all_told) told.push_back(one.last);
  }
  for (auto& [key, one] : merged) {
    if (!one.all_told) told.push_back(std::move(one.last));
  }
  return told;
}

}  // namespace paceline
