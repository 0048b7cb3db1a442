#include "policy/sjf.hpp"

#include "policy/orders.hpp"
#include "policy/settle.hpp"

namespace paceline {

void Sjf::decide(const Snapshot& snapshot, Draft& draft) const {
  settle(snapshot, draft, {.rest = Rest{kShortest, Sizes::wanted, "shorter jobs"}});
}

}  // namespace paceline
