// A study as JSON (docs/simulate.md) and its jobs as a table of comma-separated values.
#pragma once

#include <ostream>
#include <string>

#include "sim/study/study.hpp"

namespace paceline::sim {

// What a study was asked for, in the words of its options; shown with every result.
struct StudyWords {
  std::string trace, cluster;
  std::string what_if;  // how the cluster was changed; empty: it was not
  std::string elastic;  // empty: rigid
  std::string command;  // the whole command line
};

std::string to_json(const Study& study, const StudyPlan& plan, const StudyWords& words);

// One line per run and job. REQUIRES: the plan kept the jobs.
void write_jobs_csv(std::ostream& out, const Study& study, const StudyPlan& plan);

}  // namespace paceline::sim
