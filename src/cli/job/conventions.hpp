// What people write as they do elsewhere, understood as they mean it: scripts with #SBATCH lines,
// and commands that start the processes of a training themselves.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"

namespace paceline {

struct Understood {
  JobWords words;
  std::vector<std::string> notes;  // what was made of it, a sentence each
};

// `words` as they are where they say as_is. `directory`: that the submitter is in. Errors: invalid
// (what can't be done here, with what to write instead).
Result<Understood> understand(JobWords words, const std::string& directory);

}  // namespace paceline
