// What the API tells of a job's points, for its page.
#pragma once

#include "base/result.hpp"
#include "cli/client/api.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {

// `job`: as GET /v1/jobs/7 answered. Nothing where the points are others'. Errors: what the server
// says.
Result<Curve> read_curve(Api& api, const Document& job);

}  // namespace paceline
