// The files that a study is written to besides what is printed.
#pragma once

#include "base/result.hpp"
#include "cli/cli.hpp"
#include "sim/study/study.hpp"
#include "sim/study/study_json.hpp"

namespace paceline {

// Asked before anything is simulated. Errors: invalid (a plot of no known kind, a file named
// twice), storage.
Result<void> check_study_files(const SimulateOptions& options);

// What a plan has to keep for them.
void keep_for_study_files(const SimulateOptions& options, sim::StudyPlan& plan);

// REQUIRES: the plan kept it. Errors: storage, internal.
Result<void> write_study_files(const SimulateOptions& options, const sim::Study& study,
                               const sim::StudyPlan& plan, const sim::StudyWords& words);

}  // namespace paceline
