#include "model/topology.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"

namespace paceline {
namespace {

// A domain is the number of its name, above those a level below it.
constexpr std::uint32_t kNamedRacks = 1U << 30;
constexpr std::uint32_t kNamedNetworks = 1U << 31;

}  // namespace

std::optional<std::uint32_t> Topology::number(Names& names, const std::string& name) {
  if (name.empty()) return std::nullopt;
  return names.try_emplace(name, static_cast<std::uint32_t>(names.size())).first->second;
}

std::uint32_t Topology::kind_of(const NodeSpec& spec) {
  std::set<std::string> models;
  for (const SlotSpec& slot : spec.slots) models.insert(slot.model);
  Kind wanted{{models.begin(), models.end()}, spec.only_user};
  const auto known = std::find(kinds_.begin(), kinds_.end(), wanted);
  const auto kind = static_cast<std::uint32_t>(known - kinds_.begin());
  if (known != kinds_.end()) return kind;
  kinds_.push_back(std::move(wanted));
  models.insert(models_.begin(), models_.end());
  models_.assign(models.begin(), models.end());
  return kind;
}

void Topology::set(NodeId node, const NodeSpec& spec) {
  check(node.value <= sites_.size(), "nodes are set in id order");
  if (node.value == sites_.size()) sites_.emplace_back();
  const bool flat = std::all_of(spec.slots.begin(), spec.slots.end(), [&](const SlotSpec& slot) {
    return slot.island == spec.slots[0].island && slot.numa == spec.slots[0].numa;
  });
  const bool choosy = paceline::is_choosy(spec);
  if (sites_[node.value].choosy) --choosy_;
  if (choosy) ++choosy_;
  sites_[node.value] = {kind_of(spec), number(racks_, spec.rack),
                        number(networks_, spec.network_switch), flat, choosy};
}

std::uint32_t Topology::domain(NodeId node, Reach reach) const {
  const NodeSite& at = site(node);
  if (reach == Reach::network_switch && at.network) return kNamedNetworks + *at.network;
  if (reach != Reach::node && at.rack) return kNamedRacks + *at.rack;
  return node.value;
}

}  // namespace paceline
