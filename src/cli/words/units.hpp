// Reads the words with units that people write as options and in job files. Every error says what
// was found, and its hint how to write it; callers put in front where it stood.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/points.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

// "90s", "10m", "2h", "1d", "1h30m", "1.5h", "500ms"; more than 0, at most 100 years. A number
// alone is refused: it has no unit. Errors: invalid.
Result<Duration> parse_duration(std::string_view text);
Result<Duration> parse_span(std::string_view text);  // the same, or "0s" or "0"
// Of Rules::reclaim_after: a span from 0s to a year. Errors: invalid.
Result<Duration> parse_reclaim_after(std::string_view text);

// "512M", "8G", "8GiB", "1.5T" in multiples of 1024; "8GB" in multiples of 1000. Errors: invalid.
Result<std::uint64_t> parse_bytes(std::string_view text);

struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// A whole number within the bounds. Errors: invalid.
Result<std::int64_t> parse_whole(std::string_view text, Bounds bounds);

// CPU cores: "2", "0.5". Errors: invalid.
Result<double> parse_cores(std::string_view text);

// "SIGUSR1", "usr1" or "10". Errors: invalid.
Result<std::int32_t> parse_signal(std::string_view text);

// How long a job is: one of the two.
struct Expectation {
  std::optional<Duration> duration;
  std::optional<std::uint64_t> samples;
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// "2h" or "60000 samples". Errors: invalid.
Result<Expectation> parse_expect(std::string_view text);

// "1:1,2:1.9,4:3.5": sizes that rise, each with its speed. Errors: invalid.
Result<Points<std::int32_t>> parse_speeds(std::string_view text);

// RFC 3339 ("2025-11-20T18:00:00Z", "2025-11-20 18:00:00+01:00"), "+2h" from `now`, or "18:00", when
// the clock of this machine shows that next. Errors: invalid (none of them, no such day, not after
// `now`).
Result<WallTime> parse_deadline(std::string_view text, WallTime now);

// A day ("2025-11-20", its beginning in UTC) or RFC 3339 as above. Errors: invalid.
Result<WallTime> parse_date(std::string_view text);

// "2h" is so long before `now`; else a date as above. Errors: invalid.
Result<WallTime> parse_since(std::string_view text, WallTime now);

// The id of a job. Errors: invalid.
Result<std::uint32_t> parse_id(std::string_view text);

}  // namespace paceline
