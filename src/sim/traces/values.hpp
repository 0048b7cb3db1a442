// What stands in the columns of traces, read exactly. What can't be read is refused with what is
// wrong about it, to be said after the value: "'-3' is negative".
#pragma once

#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>

#include "base/time.hpp"

namespace paceline::sim {

template <class T>
using ValueOr = tl::expected<T, std::string_view>;

// 317 years: the longest span, and the last second since 1970.
inline constexpr std::int64_t kTraceSecondsMax = 10'000'000'000;

// A decimal number that is not negative, in millionths, the seventh decimal rounded half up. Exact,
// also where a double is not; only scientific notation (1.5e-3) goes through one. At most
// 10'000'000'000.
ValueOr<std::int64_t> parse_millionths(std::string_view text);

// A whole number, 0 to 10'000'000'000; "8.0" is one.
ValueOr<std::int64_t> parse_count(std::string_view text);

// A finite number of either sign, as near as a double comes.
ValueOr<double> parse_number(std::string_view text);

// "2017-10-09 07:01:55", with a 'T' or a blank, up to six decimals, and a 'Z' or nothing; of the
// years 1970 to 2286.
ValueOr<Time> parse_date_time(std::string_view text);

}  // namespace paceline::sim
