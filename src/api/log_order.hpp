// Puts the lines of a job's workers in the order in which they were written, as far as it is known
// when each log grew: some tenths of a second, coarser the longer ago it is.
#pragma once

#include <vector>

#include "api/log_files.hpp"
#include "api/worker_output.hpp"

namespace paceline {

// As WorkerOutput::read, some hundred pieces at most: a few milliseconds of work. Of lines of equal times those of one rank stay together.
std::vector<LogChunk> read_in_order(const LogFiles& files, const LogsWanted& wanted);

}  // namespace paceline
