// Which jobs that are over leave the state for the store, and when: of more than so many those that
// ended first, and all that ended long ago. So memory, a restart and every walk over the jobs are
// bounded by what is alive, however many there ever were.
//
//   forgetting.follow(state, touched);
//   if (auto jobs = forgetting.due(now); !jobs.empty()) …   // JobsForgotten{jobs}
//   forgetting.forgot(jobs, now);                           // once it is durable
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "model/state.hpp"

namespace paceline {

class Forgetting {
 public:
  struct Bounds {
    std::uint64_t jobs = 0;  // that are over, in the state; a tenth more comes together first
    Duration age{};          // since they ended
  };

  explicit Forgetting(const Bounds& bounds) : bounds_(bounds) {}

  // Looks at jobs that changed: those that are over are in here until they are forgotten.
  void follow(const State& state, std::span<const JobId> touched);
  void forgot(std::span<const JobId> jobs, Time now);

  static constexpr std::size_t kAtOnce = 1'000;
  // Those that are to be forgotten now, in id order, at most so many at once.
  [[nodiscard]] std::vector<JobId> due(Time now) const;
  // When there will be some; nothing: not before a job ends.
  [[nodiscard]] std::optional<Time> next() const;

 private:
  [[nodiscard]] bool too_many() const { return over_.size() > bounds_.jobs + bounds_.jobs / 10; }
  [[nodiscard]] Time next_old() const;

  Bounds bounds_;
  std::map<JobId, Time> ended_;
  std::set<std::pair<Time, JobId>> over_;  // the same, by when they ended
  std::optional<Time> forgot_at_;
};

}  // namespace paceline
