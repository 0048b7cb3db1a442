// By which worker a job failed.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/client/api.hpp"

namespace paceline {

// Of a job that failed just now: the first of its workers that ended by itself in its last
// generation. Nothing where the newest entries of the journal don't tell, or the server doesn't.
std::optional<std::int64_t> failing_rank(Api& api, std::uint32_t job);

}  // namespace paceline
