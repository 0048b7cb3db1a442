// The journal as a flight recorder: what came from outside — submissions, commands, what engine and
// nodes told — is given to the controller again at the times at which it came, and what the
// controller writes is held against what it wrote then, byte for byte.
//
// Servers that a journal went through are begun again where it says so (Entry::began). What a
// killed server decided and did not live to write is not missed. Not recorded, and so a difference:
// a round whose plan the disk refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/registry.hpp"
#include "store/store.hpp"

namespace paceline::sim {

// The first entry that came out otherwise.
struct ReplayDifference {
  std::uint64_t seq = 0;
  Time at;
  std::string recorded;  // as the journal has it; empty: it has none there
  std::string replayed;  // the same, or why there is none
};

struct Replay {
  std::uint64_t folded = 0;     // entries before the first server that noted what it decided by
  std::uint64_t replayed = 0;   // entries after these that came out the same
  std::uint64_t plans = 0;      // of them
  std::uint64_t servers = 0;    // begun
  std::uint64_t unwritten = 0;  // plans that a server did not live to write
  std::optional<ReplayDifference> difference;
};

// Errors: data: no server noted what it decided by, or an entry is missing; those of
// journal.entries().
Result<Replay> replay(Store& journal, const PolicyRegistry& registry);

}  // namespace paceline::sim
