// The simulated host's side.
#pragma once

#include <set>

#include "conformance/stage.hpp"

namespace paceline::conformance {

// Every course that the simulated host takes in the story: where nothing fails, where the machine is in
// want of something (agent/wants.hpp) when the worker is started or when its supervisor begins, and where
// the supervisor ends, whenever that is. Only by workers whose course is the story's plain one where
// nothing fails.
std::set<Course> simulated_courses(const Story& story);

}  // namespace paceline::conformance
