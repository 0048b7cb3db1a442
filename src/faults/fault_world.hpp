// The whole control plane in one thread on virtual time: server, agents, machines, network, people,
// and everything that can go wrong with them, from one seed. The same seed gives the same digest.
//
//   MemoryStore disk;
//   FaultReport report = run_fault_world({.seed = 7}, {disk, make_engine, make_clock, policies, {}});
//   report.faults    → empty, or one sentence for each thing that must not happen
#pragma once

#include "faults/fault_options.hpp"

namespace paceline::faults {

FaultReport run_fault_world(const FaultOptions& options, const FaultParts& parts);

}  // namespace paceline::faults
