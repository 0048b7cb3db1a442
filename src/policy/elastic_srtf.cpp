#include "policy/elastic_srtf.hpp"

#include "policy/pages.hpp"
#include "policy/shares.hpp"

namespace paceline {

PolicyInfo ElasticSrtf::info() {
  return {.name = "elastic-srtf",
          .summary = "Smallest sizes in order of what is left, then the rest spread.",
          .text = policy_page("elastic-srtf"),
          .elastic = true,
          .make = make_plain<ElasticSrtf>,
          .preempts = true};
}

void ElasticSrtf::decide(const Snapshot& snapshot, Draft& draft) const {
  const auto rule = [](Shares& shares) {
    shares.all_in_order();
    shares.spread_in_turn();
  };
  divide(snapshot, draft, kShortest, rule,
         {.precedence = "has less left",
          .rest = Rest{kShortest, Sizes::smallest, "jobs with less left"}});
}

}  // namespace paceline
