// Reads measured profiles of applications: a folder of them, or a tar of it, packed or not. The
// folder of an application holds
//
//   placements.csv    placement,local_bsz,step_time,sync_time: 123 is three nodes with 1, 2 and
//                     3 replicas
//   scalability.csv   num_nodes,num_replicas,local_bsz,step_time,sync_time
//   validation-B.csv  progress,iteration,metric,grad_sqr,grad_var, for each batch B
//
// of which one of the first two may be missing. Times are in seconds. What was measured several
// times is averaged: a gang in another order of its nodes, a scale by all of its placements. Other
// files and columns are passed over.
//
//   Result<Profiles> profiles = read_profiles("profiles.tar.xz");
//
// Errors: one sentence with the file, the line and the column.
// Source of the layout: petuum/adaptdl, branch osdi21-artifact, simulator/traces.
#pragma once

#include <string>

#include "base/result.hpp"
#include "sim/profile.hpp"

namespace paceline::sim {

inline constexpr std::size_t kProfileFilesMax = 10'000;
inline constexpr std::size_t kProfileRowsMax = 1'000'000;  // of all files together

Result<Profiles> read_profiles(const std::string& path);

}  // namespace paceline::sim
