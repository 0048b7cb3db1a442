#include "policy/srtf.hpp"

#include "policy/shares.hpp"

namespace paceline {

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
