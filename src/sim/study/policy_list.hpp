// Policies to compare, in words: "fifo,las(queues=2,threshold=3600),fair(weights=ann:2,bob:0.5)". A
// value may have commas: it ends where the next name and '=' begin. A word that ends in .lua is a
// file with a policy of one's own; what it is called is its name without that.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/study/simulation.hpp"

namespace paceline::sim {

using ReadScript = std::function<Result<std::string>(const std::string& path)>;

// Every policy can be made. Errors: invalid, naming what stands wrong; not_found; those of
// `read_script`.
Result<std::vector<PolicyChoice>> parse_policies(std::string_view text,
                                                 const PolicyRegistry& registry,
                                                 const ReadScript& read_script);

}  // namespace paceline::sim
