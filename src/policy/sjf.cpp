#include "policy/sjf.hpp"

#include "policy/shares.hpp"

namespace paceline {

void Sjf::decide(const Snapshot& snapshot, Draft& draft) const {
  fill(snapshot, draft, kShortest, Sizes::wanted);
  say_why_waiting(snapshot, draft, Sizes::wanted, "shorter jobs");
}

}  // namespace paceline
