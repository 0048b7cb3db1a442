// Many reports as few: decisions and the journal need the last word of each job, not every step on the
// way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "model/event.hpp"
#include "model/state.hpp"

namespace paceline {

struct MergedReport {
  Progressed report;
  bool meets_tier = false;  // of the job's target, for the first time
  friend bool operator==(const MergedReport&, const MergedReport&) = default;
};

// The reports among `events`: those of one job and generation merged into one, by job. What had
// come up to a report that meets a tier of the job's target for the first time is told before, lest
// a later value in the same batch hide it.
std::vector<MergedReport> merge_reports(const State& state, std::span<const Event> events);

// Which of them the journal gets now, so that a job that reports often fills it no faster than one that
// reports now and then. Now: a job's first, one that meets a tier, all that a job said before anything
// else of it (an end, a checkpoint) or of a node is told, and what waited for the interval. The
// others are merged and wait; the store keeps them beside the journal meanwhile (Batch::unjournalled).
//
//   ReportSpacing spacing(std::chrono::seconds{5});
//   auto [journalled, unjournalled] = spacing.take(merge_reports(state, events), events, now);
class ReportSpacing {
 public:
  struct Spaced {
    std::vector<Progressed> journalled;
    std::vector<Progressed> unjournalled;  // those that are new, by job
  };

  // A job's reports reach the journal at most once in the interval.
  explicit ReportSpacing(Duration interval) : interval_(interval) {}

  // Called once for each observation, with its events.
  Spaced take(std::vector<MergedReport> merged, std::span<const Event> events, Time now);
  // When a report has waited long enough; may be a little early.
  [[nodiscard]] std::optional<Time> next() const;

 private:
  struct Reporting {
    Time due;  // when its next report may be journalled
    std::optional<Progressed> waiting;
  };

  void add(Progressed report, bool at_once, Time now, std::vector<Progressed>& journalled);
  void put_off(JobId job, Time now);
  [[nodiscard]] std::vector<JobId> due(Time by) const;
  void hand_on(JobId job, Time now, Spaced& spaced);

  Duration interval_;
  std::map<JobId, Reporting> jobs_;  // that reported within the interval
  std::set<std::pair<Time, JobId>> due_;
};

}  // namespace paceline
