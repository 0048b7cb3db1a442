// By which worker a job failed, and what that wrote last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client/api.hpp"

namespace paceline {

// Of a job that failed, as a document of the API: the first of its workers that ended by itself in its
// last generation. Nothing where the newest 20,000 entries of the journal don't tell, or the server doesn't.
std::optional<std::int64_t> failing_rank(Api& api, const Document& job);

// What a worker wrote last since it was started last, without its reports. Empty where it wrote
// nothing, and where the log can't be read: it is somebody else's.
std::vector<std::string> read_last_lines(Api& api, std::uint32_t job, std::int64_t rank);

// "Rank 1 failed. It wrote last:" and the lines.
std::string failure_text(std::int64_t rank, const std::vector<std::string>& lines);

// That of a job that FAILED, as a document of the API: what its failing worker wrote last says more
// than how it ended. Empty of others, and where the rank is not known or the log can't be read.
std::string last_words_of(Api& api, const Document& job);

}  // namespace paceline
