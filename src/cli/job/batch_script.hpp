// Batch scripts as sbatch takes them: a shell script whose #SBATCH lines say what it needs. What
// has a meaning here is taken, what has none is said, what can't be done here is refused.
//
//   #!/bin/bash
//   #SBATCH --gres=gpu:2 --time=02:00:00
//   torchrun --nproc_per_node=2 train.py
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"
#include "cli/job/launcher.hpp"

namespace paceline {

struct BatchScript {
  std::string name;                      // "train.sh"
  JobWords words;                        // of its #SBATCH lines; the command: interpreter, script
  std::vector<std::string> notes;        // a sentence for each line that has no meaning here
  std::optional<LauncherCall> launcher;  // that it calls
};

inline constexpr std::size_t kBatchScriptBytesMax = 1 << 20;

// The lines of `text`, the file at `path`, up to its first command. `given`: what the owner says
// of the job besides; an array's script is one task of it where SLURM_ARRAY_TASK_ID is given.
// Errors: invalid, "train.sh:3: …".
Result<BatchScript> parse_batch_script(const std::string& text, const std::string& path,
                                       const JobWords& given);

// The one that the command is, alone ("train.sh --lr 1") or behind its shell ("bash train.sh");
// nothing where that is no script with #SBATCH lines. Its path is absolute or relative to
// `directory`, and absolute in what comes back; of a job that ships its directory, relative to that.
// Errors: as above.
Result<std::optional<BatchScript>> find_batch_script(const JobWords& words,
                                                     const std::string& directory);

}  // namespace paceline
