// The tables of a report.
#pragma once

#include <string>

#include "sim/study/study.hpp"

namespace paceline::sim {

// Each policy: the means over the seeds and where they lie with a chance of 95 in 100.
std::string policies_table(const Study& study, const StudyPlan& plan);
// Each policy against the first.
std::string comparisons_table(const Study& study, const StudyPlan& plan);
// Jobs by the slots they asked for, of the first seed. REQUIRES: details were kept.
std::string sizes_table(const Study& study, const StudyPlan& plan);
// How many jobs there were and which of them count, of the first seed. REQUIRES: the same.
std::string jobs_table(const Study& study, const StudyPlan& plan);
// Every policy with every seed.
std::string runs_table(const Study& study, const StudyPlan& plan);

}  // namespace paceline::sim
