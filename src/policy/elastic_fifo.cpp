#include "policy/elastic_fifo.hpp"

#include "policy/shares.hpp"

namespace paceline {

void ElasticFifo::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.running_first();
  shares.spread_in_turn();
  settle(snapshot, draft, {.wishes = shares.wishes(), .rest = Rest{kArrival, Sizes::smallest}});
}

}  // namespace paceline
