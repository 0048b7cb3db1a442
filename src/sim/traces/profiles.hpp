// Reads measured profiles of applications: a folder of them, or a tar of it, packed or not. The
// folder of an application holds
//
//   placements.csv    placement,local_bsz,step_time,sync_time: 123 is three nodes with 1, 2 and
//                     3 replicas
//   scalability.csv   num_nodes,num_replicas,local_bsz,step_time,sync_time
//   validation-B.csv  progress,iteration,metric,grad_sqr,grad_var, for each batch B
//
// of which one of the first two may be missing. Where several kinds of devices were measured the first
// two are named for them, placements-rtx.csv and scalability-rtx.csv. Times are in seconds. What was measured several
// times is averaged: a gang in another order of its nodes, a scale by all of its placements. Other
// files and columns are passed over.
//
//   Result<Profiles> profiles = read_profiles("profiles.tar.xz");
//
// Errors: one sentence with the file, the line and the column.
// Source of the layout: petuum/adaptdl, branch osdi21-artifact, simulator/traces (Pollux); of that by
// devices: siasosp23/artifacts, sia-simulator/traces (Sia).
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "sim/truth/profile.hpp"

namespace paceline::sim {

inline constexpr std::size_t kProfileFilesMax = 10'000;
inline constexpr std::size_t kProfileRowsMax = 1'000'000;  // of all files together

// Of the files that are named for no device.
Result<Profiles> read_profiles(const std::string& path);
// Of those that are, by the device: how long steps take there, and nothing else.
Result<std::map<std::string, Profiles>> read_device_profiles(const std::string& path);

}  // namespace paceline::sim
