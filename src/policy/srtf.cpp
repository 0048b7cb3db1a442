#include "policy/srtf.hpp"

#include "policy/shares.hpp"
#include "policy/waiting.hpp"

namespace paceline {
void Srtf::decide(const Snapshot& snapshot, Draft& draft) const {
  if (snapshot.state.waiting().empty()) return;
  Shares shares(snapshot, draft, kShortest, Sizes::wanted);
  shares.all_in_order();
  settle(snapshot, draft, shares.wishes(), {Owed::no, "has less left"});
  fill(snapshot, draft, kShortest, Sizes::wanted);
  say_why_waiting(snapshot, draft, Sizes::wanted, "jobs with less left");
}

Quiet Srtf::quiet() const { return {true}; }

}  // namespace paceline
