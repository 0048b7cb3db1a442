// A job file: the words of a job as YAML (docs/cli.md).
//
//   name: digits
//   run: python3 train.py
//   resources: {slots: 1..4}
//   target: accuracy>=0.95
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"

namespace paceline {

// `name` is what errors call the file. Errors: invalid, too_large; each names the line, and for an
// unknown key the nearest known one.
Result<JobWords> parse_job_file(const std::string& text, const std::string& name);

// Reads the file at `path`, or standard input for "-". A relative `workdir` in it is relative to
// the file. A job without a name gets the file's. Errors: as above; not_found, storage.
Result<JobWords> read_job_file(const std::string& path);

}  // namespace paceline
