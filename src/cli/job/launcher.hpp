// Programs that start the processes of a training themselves: torchrun, accelerate launch,
// deepspeed, mpirun, horovodrun. Paceline starts one worker per slot; each of them would start the
// whole training again. So such a command gets one worker that sees all the slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"

namespace paceline {

// A call of a launcher, as it stands in a command.
struct LauncherCall {
  std::string name;                       // "torchrun", "srun"
  std::optional<std::int64_t> processes;  // that it is told to start
  bool several_machines = false;          // its own options say so
  std::string script;                     // what it starts: "train.py --lr 1"; may be empty
};

// The launcher that argv calls: as the program itself, as python's module, behind `env`, `timeout` and
// their like, or in the text of a shell.
std::optional<LauncherCall> launcher_in(const std::vector<std::string>& argv);

// The first one that the job's command calls; the commands of a shell's text are looked through.
std::optional<LauncherCall> find_launcher(const JobWords& words);
std::optional<LauncherCall> find_launcher(const std::string& shell_text);

// Makes `words` ask for one worker that sees all the slots. `why` begins the sentence that says
// so: "torchrun starts the processes itself". Nothing where that holds anyway. Errors: invalid (a
// range of slots, several workers), with `hint`.
Result<std::optional<std::string>> make_one_worker(JobWords& words, const std::string& why,
                                                   const std::string& hint);

// Fits `words` to the launcher. Gives what the owner should know, a sentence each. Errors: invalid
// (what needs several workers or several machines, srun), with what to write instead.
Result<std::vector<std::string>> fit_launcher(JobWords& words, const LauncherCall& launcher);

}  // namespace paceline
