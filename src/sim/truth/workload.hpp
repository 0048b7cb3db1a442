// What a simulated cluster is asked to do: a trace, cut, loaded and resampled. Every policy of a
// study gets the same one.
//
// A seed resamples the trace by whole days, drawn with replacement, and jitters every submission by
// up to kJitter either way; seed 0 is the trace as it is. A load of x divides the times between
// submissions by x.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "model/job_spec.hpp"
#include "sim/trace.hpp"
#include "sim/truth/learning.hpp"

namespace paceline::sim {

inline constexpr Duration kJitter = std::chrono::minutes{5};

// A bound of a range of sizes, in slots or as a multiple of what the trace asked for.
struct Bound {
  double value = 1;
  bool times_wanted = true;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// "min=1,max=2x": of a job that asked for 4 slots 1..8@4. What is left out stays as asked for.
struct ElasticRule {
  Bound min, max;
  friend bool operator==(const ElasticRule&, const ElasticRule&) = default;
};

// Errors: invalid.
Result<ElasticRule> parse_elastic_rule(std::string_view text);

struct WorkloadOptions {
  std::uint64_t seed = 0;
  double load = 1;
  std::optional<Duration> from, until;  // since the first submission; nothing: all
  std::optional<ElasticRule> elastic;   // nothing: as the trace says, else rigid
  std::optional<TargetPart> reach;      // nothing: nobody has a target
};

// One job to submit. A worker has one slot, unless the trace says otherwise.
struct Arrival {
  Time at;
  Duration length{};      // of its run with range.want workers, until it meets its target if any
  double reach = 1;       // the part of its training that this is
  WorkerRange range;      // in workers; want is what the trace asked for
  std::uint32_t job = 0;  // among the trace's
};

struct Workload {
  std::shared_ptr<const Trace> trace;
  std::vector<Arrival> arrivals;  // by time, then place in the file
  std::size_t rejected = 0;       // larger than the cluster: left out
};

// `slots`: of the cluster. REQUIRES: load > 0.
Workload make_workload(std::shared_ptr<const Trace> trace, std::int64_t slots,
                       const WorkloadOptions& options);

// What a job without a spec of its own asks for, but its name and its size.
JobSpec plain_spec(const TraceJob& job);

// The newest submission of each line of a trace.
using NewestOfLine = std::unordered_map<std::int64_t, JobId>;

// What a job asks for that is submitted at that time: its deadline comes as long after its submission
// as in the trace, and it waits for the newest submissions of the lines that it names. REQUIRES: it
// has a spec of its own.
JobSpec own_spec(const TraceJob& job, Time at, const NewestOfLine& newest);

}  // namespace paceline::sim
