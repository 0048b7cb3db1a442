#include "engine/agents/node_view.hpp"

#include <algorithm>

namespace paceline {

ClaimView* NodeView::find_claim(const ProcessKey& key) {
  const auto found = claims.find(key);
  return found == claims.end() ? nullptr : &found->second;
}

bool NodeView::conflicts(const ProcessKey& key, const std::vector<std::uint32_t>& slots) const {
  return std::any_of(claims.begin(), claims.end(), [&](const auto& entry) {
    const auto& [other, claim] = entry;
    if (other == key || claim.gone || claim.lends) return false;
    return std::find_first_of(slots.begin(), slots.end(), claim.slots.begin(), claim.slots.end()) !=
           slots.end();
  });
}

}  // namespace paceline
