#include "joining/known_node.hpp"

#include <utility>

#include "model/label.hpp"

namespace paceline {

void put_in_place(NodeSpec& spec, const NodePlace& place) {
  if (!place.rack.empty()) spec.rack = place.rack;
  if (!place.network_switch.empty()) spec.network_switch = place.network_switch;
  auto labels = place.labels;
  for (auto& [key, value] : spec.labels) {
    if (labels.size() < kLabelsMax) labels.try_emplace(key, std::move(value));
  }
  spec.labels = std::move(labels);
}

}  // namespace paceline
