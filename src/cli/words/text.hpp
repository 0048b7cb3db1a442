// Words and numbers for people: how durations, sizes, counts and times read in tables and
// sentences, and how wide a text is on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"  // printable()

namespace paceline {

// "0s", "42s", "1m05s", "2h05m", "3d04h": the two largest units, rounded down. Negative is "0s".
std::string human_duration(double seconds);
// "512M", "1.5G", "80G"; multiples of 1024.
std::string human_bytes(std::uint64_t bytes);
// "60,000".
std::string human_count(std::uint64_t count);
// A metric's value with at most four significant digits: "0.9512", "12.5", "1.2e-05".
std::string human_number(double value);
// Local time: "11:08:20" if it is on the day of `now`, else "2025-11-20 11:08:20". Seconds since
// 1970.
std::string human_time(double at, double now);
// "2025-11-20T18:00:00Z". Seconds since 1970.
std::string utc_time(double at);
// "paceline drain gpu-7 --reason "new disk"", of the words behind the program's name: as a shell takes it.
std::string command_line(const std::vector<std::string>& words);
// "2 jobs", "1 job"; "3 entries".
std::string plural(std::uint64_t count, std::string_view noun);
// "5", "5 and 7", "5, 7 and 9".
std::string listed(const std::vector<std::string>& words);

// Columns that UTF-8 `text` takes on a terminal: 0 for combining marks, 2 for East Asian wide.
std::size_t display_width(std::string_view text);
// The longest beginning of `text` that fits `width` columns, ending in "…" where something is
// missing. REQUIRES: width > 0.
std::string cut_to_width(std::string_view text, std::size_t width);

}  // namespace paceline
