// From words to what POST /v1/jobs takes: the spec, and the submitter's own world (environment,
// umask, directory), which travels with the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"
#include "cli/words/console.hpp"
#include "wire/submission_json.hpp"

namespace paceline {

struct Submitter {
  Environment environment;
  std::string directory;  // absolute; elsewhere: "~"
  std::uint32_t umask = 022;
  WallTime now;
  // The job runs on machines that this process can't see: its directory and its program are looked
  // up there.
  bool elsewhere = false;
};

// This process's, with `environment`. Errors: not_found (the current directory is gone).
Result<Submitter> this_submitter(const Environment& environment, WallTime now);
// A path that may begin with "~", as a shell takes it.
std::string with_home(const std::string& path, const Environment& environment);
// Of a job that runs elsewhere: at home there, in the environment of a login.
Submitter submitter_elsewhere(WallTime now);

enum class Inherit { everything, little };

// Errors: invalid (no command, words that do not fit each other), not_found (no such program or
// directory).
Result<SubmissionBody> make_submission(const JobWords& words, const Submitter& submitter,
                                       Inherit inherit);

// What a job inherits: everything but Paceline's own variables, those that an enclosing job's
// workers got, and what is not UTF-8; or only what says who and where its owner is (HOME, PATH, LANG, …).
Environment inherited(const Environment& environment, Inherit inherit);

// The script's base name: "train" of `python3 -u train.py --lr 1`, "pkg.train" of `python -m
// pkg.train`, else the program's own.
std::string name_of(const std::vector<std::string>& command);

}  // namespace paceline
