// A study as one HTML page for people: tables, figures and what they rest on, without scripts and
// without anything to load.
#pragma once

#include <string>

#include "sim/study/study.hpp"
#include "sim/study/study_json.hpp"

namespace paceline::sim {

// Equal studies give equal bytes. REQUIRES: the plan kept details and the occupancy.
std::string to_html(const Study& study, const StudyPlan& plan, const StudyWords& words);

}  // namespace paceline::sim
