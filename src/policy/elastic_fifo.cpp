#include "policy/elastic_fifo.hpp"

#include "policy/pages.hpp"
#include "policy/shares.hpp"

namespace paceline {

PolicyInfo ElasticFifo::info() {
  return {.name = "elastic-fifo",
          .summary = "Minimum sizes in arrival order, then the rest spread one worker at a time.",
          .text = policy_page("elastic-fifo"),
          .elastic = true,
          .make = make_plain<ElasticFifo>};
}

void ElasticFifo::decide(const Snapshot& snapshot, Draft& draft) const {
  const auto rule = [](Shares& shares) {
    shares.running_first();
    shares.spread_in_turn();
  };
  divide(snapshot, draft, kArrival, rule, {.rest = Rest{kArrival, Sizes::smallest}});
}

}  // namespace paceline
