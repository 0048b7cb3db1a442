// Removes the logs of a job that nobody keeps any more: DIR/logs/<job> with what lies in it. Nothing
// is followed: links go, what they name stays.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

// Removes at most so many files. True: nothing is left, or there was nothing. Whoever is stopped
// meanwhile goes on with the next call. REQUIRES: no worker of the job lives. Errors: storage,
// forbidden.
Result<bool> remove_logs(const std::string& server_directory, JobId job, std::size_t files);

}  // namespace paceline::agent
