#include "policy/sjf.hpp"

#include "policy/orders.hpp"
#include "policy/pages.hpp"
#include "policy/settle.hpp"

namespace paceline {

PolicyInfo Sjf::info() {
  return {.name = "sjf",
          .summary = "The shortest first, each job that fits; none is stopped.",
          .text = policy_page("sjf"),
          .make = make_plain<Sjf>};
}

void Sjf::decide(const Snapshot& snapshot, Draft& draft) const {
  settle(snapshot, draft, {.rest = Rest{kShortest, Sizes::wanted, "shorter jobs"}});
}

}  // namespace paceline
