// Which metric points are kept of a job that reports more than its share: `per_job` a second, or
// less where its owner's jobs that report would be more than `per_user` together, which is then
// divided evenly among them. Up to that share, and bursts of as many, all are kept. Of a larger burst
// an even choice is kept, ending with the newest. A point that is the first to meet a tier of the
// job's target is always kept; the newest one that was passed over is kept at the latest when there
// is room again or a worker of the job ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/event.hpp"
#include "model/progress.hpp"
#include "model/state.hpp"

namespace paceline {

class Thinning {
 public:
  struct Taken {
    std::vector<MetricPoint> kept;
    std::vector<PassedOver> passed_over;  // by process
  };

  // Points in a second.
  Thinning(std::uint64_t per_job, std::uint64_t per_user)
      : per_job_(static_cast<double>(per_job)), per_user_(static_cast<double>(per_user)) {}

  // What is kept of `points`, in their order, and of earlier ones. Called once for each observation,
  // with its events.
  Taken take(std::vector<MetricPoint> points, std::span<const Event> events, const State& state,
             Time now);

 private:
  struct Share {
    std::uint32_t owner = 0;
    double room = 0;                         // points that may be kept now
    Time at;                                 // when that was
    bool fresh = true;                       // none of it is kept yet
    std::optional<MetricPoint> newest = {};  // that was passed over
  };

  void take_job(JobId id, const Job* job, std::vector<MetricPoint> points, Time now);
  void pass_over(const MetricPoint& point, std::int64_t points);
  // Points in a second that one job of this owner may have.
  [[nodiscard]] double limit_of(std::uint32_t owner) const;
  void refill(Share& share, Time now) const;
  // The newest that were passed over, where there is room again or the job's worker ended.
  void catch_up(std::span<const Event> events, Time now);
  void forget_idle(Time now);

  double per_job_, per_user_;
  std::map<JobId, Share> shares_;                // of jobs that reported in the last seconds
  std::map<std::uint32_t, std::size_t> owners_;  // how many of these they have
  std::set<JobId> held_;                         // those with a newest point that was passed over
  Time forgotten_at_;
  // By the observation that take() looks at.
  std::vector<MetricPoint> kept_;
  std::map<ProcessKey, PassedOver> passed_over_;
};

}  // namespace paceline
