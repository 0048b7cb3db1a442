// The body of POST /v1/jobs: {"spec": {…}, "launch": {…}, "notify": {…}}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job_spec.hpp"
#include "model/launch.hpp"
#include "notify/notify.hpp"

namespace paceline {

struct SubmissionBody {
  JobSpec spec;  // without user and uid: those come from the socket
  LaunchSpec launch;
  Notify notify = {};

  friend bool operator==(const SubmissionBody&, const SubmissionBody&) = default;
};

// A job without a name is called after its script. Errors: invalid, too_large; each names the key
// and what it must be.
Result<SubmissionBody> read_submission(std::string_view body);

std::string submission_body(const SubmissionBody& submission);

}  // namespace paceline
