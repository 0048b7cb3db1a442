// Labels of a node as they are typed: "disk=nvme", again and again.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/label.hpp"

namespace paceline {

// Errors: invalid: one has no such form, stands twice, or there are too many.
Result<Labels> read_labels(const std::vector<std::string>& words);

}  // namespace paceline
