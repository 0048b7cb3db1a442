// Spans of time as parameters say them.
//
//   parse_whole_span("90s") == std::chrono::seconds{90}
//   parse_whole_span("2h") == std::chrono::hours{2}
//   parse_whole_span("2 h") == std::nullopt
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace paceline {

// A whole number of s, m, h or d; of seconds where it has no unit. At most 365 days.
std::optional<Duration> parse_whole_span(std::string_view text);

}  // namespace paceline
