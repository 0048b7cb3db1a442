// A workload as a file that `--trace` reads back: a table of comma-separated values with one line
// for each submission, in their order. Read and simulated with the same options it gives the same
// plans.
//
//   job,submitted_at,duration,slots,user,application,models,spec
//   12,1763636100.25,3600.5,4,ann,train,A100|H100,"{""workers"":""2..8@4""}"
//
// Times are seconds, exact to a microsecond; `duration` is of its whole training with all its slots,
// which are those of the wanted size. `models` are separated by bars. `spec` is empty where a job
// asked for nothing but slots, else what differs from a job that says nothing, in the keys of `spec`
// in docs/api.md; its `after` names lines of this file, and `devices` that it lacks are the
// `models`.
#pragma once

#include <ostream>

#include "sim/truth/workload.hpp"

namespace paceline::sim {

void write_trace(std::ostream& out, const Workload& workload);

}  // namespace paceline::sim
