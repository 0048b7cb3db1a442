// What many faulty worlds saw, as JSON for programs (docs/simulate.md, Faults).
#pragma once

#include <string>

#include "faults/fault_study.hpp"

namespace paceline::faults {

struct FaultWords {
  double wall_seconds = 0;
  std::string command;
};

std::string to_json(const FaultStudy& study, const FaultStudyPlan& plan, const FaultWords& words);

// What runs the seed alone again and tells its story.
std::string replay_command(std::uint64_t seed);

}  // namespace paceline::faults
