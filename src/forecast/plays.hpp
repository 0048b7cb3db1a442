// When each job will start and end, by three forecasts of one present: with lengths as estimated,
// all of them short, and all of them long. What lies between these is the interval: narrow where
// lengths are known well, wide where nobody knows them.
//
//   Plays plays(state.parts(), now, decider(fifo), placer, Protects::yes);
//   while (plays.step()) if (out_of_time()) plays.cut();
//   plays.expectations().jobs.at(job).start->at
//
// A play that is cut, or that comes to kPlayRoundsMax, says of what it didn't reach that it
// comes later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "forecast/expected.hpp"
#include "forecast/forecast.hpp"

namespace paceline {

inline constexpr std::uint64_t kPlayRoundsMax = 20'000;

class Plays {
 public:
  // REQUIRES: as of Forecast.
  Plays(StateParts parts, Time now, Decider decider, const Placer& placer, Protects protects);

  // One moment of the present play, or the beginning of the next. False: all are over.
  bool step();
  // Ends the present play where it is.
  void cut();
  // How many of the plays are over.
  [[nodiscard]] std::size_t played() const { return played_.size(); }
  // REQUIRES: all are over.
  [[nodiscard]] Expectations expectations() const;

 private:
  struct Play {
    std::map<JobId, ForecastMark> marks;
    Time horizon;
    bool complete = false;
  };
  using Milestone = std::optional<Time> ForecastMark::*;
  // The jobs that end, in order, with the least that is known of a length up to there.
  struct End {
    Time at;
    JobId job;
    LengthSource known;
  };

  void keep();
  [[nodiscard]] std::optional<ExpectedTime> expected(JobId job, Milestone milestone) const;
  [[nodiscard]] std::vector<End> ends() const;
  void hang_on(const std::vector<End>& ends, JobExpected& job) const;

  StateParts parts_;
  Time now_;
  Decider decider_;
  const Placer& placer_;
  Protects protects_;
  std::optional<Forecast> play_;
  std::vector<Play> played_;  // likely, low, high
};

}  // namespace paceline
