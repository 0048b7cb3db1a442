// A worker in a sentence.
#pragma once

#include <string>

#include "model/worker.hpp"

namespace paceline::faults {

// "worker 0 of generation 3 of job 7"
std::string text(const ProcessKey& key);

}  // namespace paceline::faults
