#include "engine/agents/node_view.hpp"

#include <algorithm>

namespace paceline {

ClaimView* NodeView::find_claim(const WorkerKey& key) {
  const auto found = claims.find(key);
  return found == claims.end() ? nullptr : &found->second;
}

bool NodeView::conflicts(const WorkerKey& key, const std::vector<std::uint32_t>& slots) const {
  return std::any_of(slots.begin(), slots.end(), [&](std::uint32_t slot) {
    const auto found = occupied.find(slot);
    return found != occupied.end() && found->second != key;
  });
}

void NodeView::occupy(const WorkerKey& key, const ClaimView& claim) {
  for (const auto slot : claim.slots) occupied[slot] = key;
}

void NodeView::vacate(const WorkerKey& key, const ClaimView& claim) {
  for (const auto slot : claim.slots) {
    const auto found = occupied.find(slot);
    if (found != occupied.end() && found->second == key) occupied.erase(found);
  }
}

}  // namespace paceline
