// What a policy, or any other decider, would make of the present: plays a copy of a state forward
// on a time line of its own, with today's estimates, until every job that is there now is over.
// Nothing outside is touched.
//
//   Forecast forecast(StateParts(state.parts()), now, decider(srtf), placer, Protects::yes);
//   while (forecast.step()) {}
//   forecast.outcome().means.completion      → 60: seconds, mean over the jobs
//
// Assumptions: no job is submitted; nothing fails; lengths and speeds are as estimated
// (estimate/), and a job of unknown length takes as long as the median of the known ones, or
// kUnknownLength. Workers start and stop at once, but for the pause of a job that ran before: its
// measured one, or the prior. A job that is stopped or resized goes on from its last checkpoint;
// one that has acknowledged a checkpoint does so again every kCheckpointEvery. A held or paused job
// stays so, and isn't counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/time_limits.hpp"
#include "plan/decide.hpp"

namespace paceline {

inline constexpr Duration kUnknownLength = std::chrono::hours{1};
inline constexpr Duration kCheckpointEvery = std::chrono::minutes{10};

// How long jobs take: as estimated, or all of them at the near or at the far end of what is
// believed (estimate/remaining.hpp).
enum class Lengths { likely, low, high };

// When a job first had all its workers, from the beginning of the forecast on, and when it was
// over. Nothing: it was not, as far as the forecast came.
struct ForecastMark {
  std::optional<Time> started, ended;
};

struct ForecastMeans {
  double completion = 0;  // seconds from submission to the end, mean
  double waiting = 0;     // seconds of them without all workers running, mean
  double makespan = 0;    // seconds from now until the last job is over
  Bill lost;              // from now on, of all jobs
};

struct ForecastOutcome {
  ForecastMeans means;
  std::size_t jobs = 0;        // counted
  std::size_t guessed = 0;     // of them of unknown length
  std::size_t unfinished = 0;  // of them not over when the forecast ended: counted up to there
  std::map<std::string, Bill> lost;  // by user: what makes up means.lost
};

// Held or frozen: it goes on only when somebody says so.
bool stands_still(const Job& job);

class Forecast {
 public:
  static constexpr std::uint64_t kRoundsMax = 2'000;

  // REQUIRES: the placer, and what the decider refers to, outlive the forecast; `now` is not before
  // the last entry.
  Forecast(StateParts parts, Time now, Decider decider, const Placer& placer, Protects protects,
           std::uint64_t rounds_max = kRoundsMax, Lengths lengths = Lengths::likely);

  // Goes to the next time at which something happens. False: it is over.
  bool step();
  [[nodiscard]] ForecastOutcome outcome() const;
  // How far it has come.
  [[nodiscard]] Time now() const { return now_; }
  // False: rounds ran out, or it goes on.
  [[nodiscard]] bool complete() const { return over_ && rounds_left_ > 0; }
  // Of every job that was there at the beginning and not over.
  [[nodiscard]] const std::map<JobId, ForecastMark>& marks() const { return marks_; }

 private:
  // What a job still has to do, in seconds at its wanted size.
  struct Work {
    double left = 0;
    double kept = 0;   // would be left if it were stopped now
    double speed = 0;  // 0: it doesn't run
    Time since;        // `left` is right as of then
    Time saved_at;
    std::optional<Time> starts_at;  // its assigned workers
  };

  void estimate();
  void pass_moment();
  void obey();
  bool obey(JobId id);
  bool start_workers(const Job& job, const std::vector<ProcessKey>& workers);
  bool end_workers(const Job& job, const Ending& how);
  void save();
  bool round();
  [[nodiscard]] Result<Plan> decide();
  void tell(std::variant<Event, Plan> body);
  void follow(const Job& job);
  void mark(const Job& job);
  void advance(Work& work) const;
  void finish_due();
  [[nodiscard]] std::optional<Time> next_moment() const;
  [[nodiscard]] std::vector<JobId> active() const;
  [[nodiscard]] bool all_over() const;
  [[nodiscard]] std::map<std::string, Bill> lost() const;

  State state_;
  Time now_, began_;
  Decider decider_;
  const Placer& placer_;
  Protects protects_;
  std::uint64_t rounds_left_;
  Lengths lengths_;
  std::map<JobId, Work> work_;  // of jobs that are not over
  std::map<JobId, ForecastMark> marks_;
  std::vector<JobId> counted_;
  std::vector<JobId> live_;  // at the beginning
  std::size_t guessed_ = 0;
  std::map<std::string, Bill> lost_before_;
  TimeLimits limits_;
  std::optional<Time> revisit_at_;
  bool over_ = false;
};

}  // namespace paceline
