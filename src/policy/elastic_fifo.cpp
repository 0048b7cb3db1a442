#include "policy/elastic_fifo.hpp"

#include "policy/shares.hpp"

namespace paceline {

void ElasticFifo::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.running_first();
  shares.spread_in_turn();
  settle(snapshot, draft, shares.wishes(), {Owed::no, ""});
  fill(snapshot, draft, kArrival, Sizes::smallest);
  say_why_waiting(snapshot, draft, Sizes::smallest, "");
}

}  // namespace paceline
