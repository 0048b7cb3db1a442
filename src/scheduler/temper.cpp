#include "scheduler/temper.hpp"

#include <algorithm>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"

namespace paceline {
namespace {

class Trial {
 public:
  Trial(const TemperOptions& options, const Snapshot& snapshot)
      : options_(options), snapshot_(snapshot) {}

  Verdict judge(std::span<const Change> changes, Owed owed) {
    for (const Change& change : changes) {
      if (const auto until = too_soon(change)) {
        const auto workers = static_cast<std::int64_t>(change.placement.size());
        return {false, {ReasonCode::waits_for_window, {workers, to_us(*until)}, {}}, until};
      }
      weigh(change);
    }
    if (owed == Owed::yes || gain_ > cost_) return {};
    return {false,
            {ReasonCode::too_costly,
             {static_cast<std::int64_t>(gain_), static_cast<std::int64_t>(cost_)},
             {}},
            {}};
  }

 private:
  std::optional<Time> too_soon(const Change& change) const {
    if (change.kind == ChangeKind::start) return std::nullopt;
    const Job& job = snapshot_.state.job(change.job);
    Time until = job.current->started_at.value_or(snapshot_.now) + options_.minimum_run;
    if (job.last_resized_at) until = std::max(until, *job.last_resized_at + options_.window);
    if (until <= snapshot_.now) return std::nullopt;
    return until;
  }

  void weigh(const Change& change) {
    const Job& job = snapshot_.state.job(change.job);
    const auto after = static_cast<std::int32_t>(change.placement.size());
    const double slots = job.slots(after - job.planned_workers());
    const Duration left = remaining(job, snapshot_.now).value_or(options_.horizon);
    gain_ += slots * to_seconds(std::min(left, options_.horizon));
    if (change.kind != ChangeKind::start) cost_ += resize_cost(job, snapshot_.now);
  }

  const TemperOptions& options_;
  const Snapshot& snapshot_;
  double gain_ = 0;
  double cost_ = 0;
};

}  // namespace

Judge make_temper(const TemperOptions& options) {
  return [options](const Snapshot& snapshot, std::span<const Change> changes, Owed owed) {
    return Trial(options, snapshot).judge(changes, owed);
  };
}

}  // namespace paceline
