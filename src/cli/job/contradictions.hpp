// What a job says of itself that can't all come true. The job is taken all the same: its owner
// may know better.
#pragma once

#include <string>
#include <vector>

#include "model/job_spec.hpp"

namespace paceline {

// One sentence each: a deadline that its own expected length misses, an expected length that its
// maximum cuts off, a range of sizes for a job whose size is to stay. Lengths are of running, and
// say nothing about the time that it waits.
std::vector<std::string> contradictions(const JobSpec& spec, WallTime now);

}  // namespace paceline
