// What jobs leave in a server's directory outside of its database, which outlives a database that
// lost its end or was exchanged: DIR/logs/N, and claims N.G.R in
// DIR/agent/workers and DIR/agent/damaged. For store/sqlite alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline {

struct GivenNumbers {
  std::uint32_t jobs = 0;  // the largest number of a job that left something
  Generation generation;   // the largest of a claim
};
GivenNumbers numbers_seen(const std::filesystem::path& dir);

// Binds the logs to the journal with this identity, by DIR/logs/journal: within a journal no number is
// given twice, so nobody is shown the log of another's job under the number of his own. Errors: data:
// they are bound to another journal; storage.
Result<void> bind_logs(const std::filesystem::path& dir, const std::string& identity);

}  // namespace paceline
