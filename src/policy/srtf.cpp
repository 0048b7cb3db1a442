#include "policy/srtf.hpp"

#include "policy/pages.hpp"
#include "policy/shares.hpp"

namespace paceline {

PolicyInfo Srtf::info() {
  return {.name = "srtf",
          .summary = "The job with the least left first; others are stopped for it.",
          .text = policy_page("srtf"),
          .make = make_plain<Srtf>,
          .preempts = true};
}

void Srtf::decide(const Snapshot& snapshot, Draft& draft) const {
  if (snapshot.state.waiting().empty()) return;
  Shares shares(snapshot, draft, kShortest, Sizes::wanted);
  shares.all_in_order();
  settle(snapshot, draft,
         {.wishes = shares.wishes(),
          .precedence = "has less left",
          .rest = Rest{kShortest, Sizes::wanted, "jobs with less left"}});
}

Quiet Srtf::quiet() const { return {true}; }

}  // namespace paceline
