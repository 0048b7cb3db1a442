// How long a job still has to run at its present size: from its progress, else from what its owner
// declared, else unknown.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "model/job.hpp"

namespace paceline {

// Running time left. Nothing if neither progress nor a declared length says it.
std::optional<Duration> remaining(const Job& job, Time now);

}  // namespace paceline
