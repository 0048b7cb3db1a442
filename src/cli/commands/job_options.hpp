// What `run` and `submit` share: the options that describe a job, the job file, and the submission
// itself, which happens once however often the connection is lost on the way.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.hpp"
#include "cli/job/job_words.hpp"
#include "cli/job/submission.hpp"
#include "ship/pack.hpp"

namespace paceline {

struct JobOptions {
  std::optional<std::string> file;
  JobWords words;
  std::optional<std::string> mesh;
  std::vector<std::string> env;
  bool exclusive = false, no_preempt = false, clean_env = false, shared_shm = false, as_is = false;
  bool ship = false;
};

struct MadeSubmission {
  SubmissionBody body;
  std::optional<Packing> ships;  // its directory travels with it
};

void declare_job_options(Options& options, JobOptions& job);

// Makes the submission and hands it on. What was made of the words stands on standard error. A job
// file that can't be read as one is complained about here and gives its own exit code.
Result<int> with_submission(Context& context, const JobOptions& job,
                            const std::function<Result<int>(MadeSubmission)>& then);

// Ships the directory where it travels, then submits: the new job's id. Errors: what the server says;
// unavailable.
Result<std::uint32_t> submit(Context& context, MadeSubmission submission);

}  // namespace paceline
