// When a job is expected to start and to end (docs/api.md, "Expected times"), in words. Times are
// seconds since 1970.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/words/document.hpp"

namespace paceline {

// Until then, for a table: "now", "12m05s"; ">1h00m": not before that; "-": nothing is known.
std::string expected_cell(const Document& expected, double now);

// Between which times, from now: "5m10s to 1h02m", "5m10s or later", "-".
std::string expected_span(const Document& expected, double now);

// "about 14:20 (13:50 to 15:40)", "about 14:20 (13:50 or later)", "not before 15:40"; "" where
// nothing is known.
std::string expected_text(const Document& expected, double now);

// What `why` says of it: "It is expected to start about 14:20 (13:50 to 15:40), once job 12 ends."
// `would`: "is expected to", "would".
std::vector<std::string> expected_lines(const Document& why, double now,
                                        std::string_view would = "is expected to");

// What would start it sooner: "With --slots 1 it would start now."
std::vector<std::string> change_lines(const Document& why, double now);

// Puts what GET /v1/expected told into the jobs of GET /v1/jobs: expected_start, expected_end.
void join_expected(Document& jobs, const Document& expected);
// The same of one job; a null document: nothing is known.
void put_expected(Document& job, const Document& expected);

}  // namespace paceline
