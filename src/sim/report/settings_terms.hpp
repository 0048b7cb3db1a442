// What a study was asked for, and what its measures mean, as lists of a report.
#pragma once

#include <string>

#include "sim/study/study_json.hpp"

namespace paceline::sim {

std::string settings_terms(const StudyPlan& plan, const StudyWords& words);
std::string measures_terms();

}  // namespace paceline::sim
