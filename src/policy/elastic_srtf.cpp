#include "policy/elastic_srtf.hpp"

#include "policy/shares.hpp"

namespace paceline {

void ElasticSrtf::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kShortest, Sizes::smallest);
  shares.all_in_order();
  shares.spread_in_turn();
  settle(snapshot, draft, shares.wishes(), {Owed::no, "has less left"});
  fill(snapshot, draft, kShortest, Sizes::smallest);
  say_why_waiting(snapshot, draft, Sizes::smallest, "jobs with less left");
}

}  // namespace paceline
