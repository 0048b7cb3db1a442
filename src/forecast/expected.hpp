// When jobs are expected to start and to be over: likeliest times, with intervals in which the truth
// lies with a chance of about eight in ten.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.hpp"
#include "estimate/remaining.hpp"
#include "model/ids.hpp"

namespace paceline {

struct ExpectedTime {
  std::optional<Time> at;      // likeliest; nothing: later than the forecast came
  Time earliest;               // where the forecast came no further: not before this
  std::optional<Time> latest;  // nothing: the interval has no end
  LengthSource known = LengthSource::progress;  // the least that is known of a length it hangs on
  double widened = 1;                           // the interval, by what past ones missed
  friend bool operator==(const ExpectedTime&, const ExpectedTime&) = default;
};

// Nothing: it has no such time (it runs already, it is held), or none can be foreseen.
struct JobExpected {
  std::optional<ExpectedTime> start, end;
  std::optional<JobId> after;  // the job whose end lets it start
  friend bool operator==(const JobExpected&, const JobExpected&) = default;
};

struct Expectations {
  std::uint64_t seq = 0;  // of the state that was played
  Time as_of;
  std::map<JobId, JobExpected> jobs;  // that wait or run
};

}  // namespace paceline
