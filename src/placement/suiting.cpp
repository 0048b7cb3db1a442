#include "placement/suiting.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "model/device_model.hpp"
#include "model/label.hpp"
#include "plan/constraints.hpp"

namespace paceline {
namespace {

bool is_own(const Affinity& term) { return term.required() && term.to == AffinityTo::self; }

// Slots that `serves` a model of. Neighbours are mostly alike: each model is judged once.
template <class Serves>
std::int64_t count_slots(const NodeSpec& node, Serves serves) {
  std::int64_t count = 0;
  const SlotSpec* judged = nullptr;
  bool takes = false;
  for (const SlotSpec& slot : node.slots) {
    if (judged == nullptr || judged->model != slot.model) takes = serves(slot.model);
    judged = &slot;
    count += takes ? 1 : 0;
  }
  return count;
}

// Adds up what nodes have room for: where groups keep apart, one of them in each place; where they
// keep together, the most that any place has.
class Groups {
 public:
  Groups(const Topology& topology, const OwnTerms& terms) : topology_(topology), terms_(terms) {}

  void add(NodeId node, std::int64_t groups) {
    const auto within = terms_.together ? topology_.domain(node, *terms_.together) : 0;
    if (terms_.apart)
      groups = groups > 0 && taken_.insert(topology_.domain(node, *terms_.apart)).second ? 1 : 0;
    most_ = std::max(most_, places_[within] += groups);
  }
  [[nodiscard]] std::int64_t most() const { return most_; }

 private:
  const Topology& topology_;
  OwnTerms terms_;
  std::map<std::uint32_t, std::int64_t> places_;
  std::set<std::uint32_t> taken_;  // places apart
  std::int64_t most_ = 0;
};

template <class SlotsOn>
std::int64_t groups_of(const State& state, const JobSpec& spec, std::int64_t enough,
                       SlotsOn slots_on) {
  const std::int32_t tensor = spec.mesh.tensor, slots_per_group = tensor * spec.slots_per_worker;
  Groups groups(state.topology(), own_terms(spec));
  for (const Node& node : state.nodes()) {
    if (groups.most() >= enough) break;
    if (node.retired || !suits(node.spec, spec)) continue;
    const auto memory = static_cast<double>(node.spec.memory_bytes);
    const auto workers = workers_within(spec, node.spec, node.spec.cpus, memory);
    groups.add(node.id,
               std::min<std::int64_t>(slots_on(node.spec) / slots_per_group, workers / tensor));
  }
  return groups.most();
}

}  // namespace

OwnTerms own_terms(const JobSpec& spec) {
  OwnTerms terms;
  for (const Affinity& term : spec.affinity) {
    if (!is_own(term)) continue;
    if (term.anti)
      terms.apart = std::max(terms.apart.value_or(term.reach), term.reach);
    else
      terms.together = std::min(terms.together.value_or(term.reach), term.reach);
  }
  return terms;
}

bool is_label(const Affinity& term) { return term.required() && term.to == AffinityTo::label; }

bool is_particular(const JobSpec& spec) {
  return !spec.devices.empty() || spec.cpus > 0 || spec.memory_bytes > 0 ||
         std::ranges::any_of(spec.affinity,
                             [](const Affinity& term) { return is_label(term) || is_own(term); });
}

bool serves_user(const NodeSpec& node, const JobSpec& spec) {
  return node.only_user.empty() || node.only_user == spec.user;
}

bool suits(const NodeSpec& node, const Affinity& term) {
  return !is_label(term) || has_label(node.labels, term) != term.anti;
}

bool suits(const NodeSpec& node, const JobSpec& spec) {
  return serves_user(node, spec) && std::ranges::all_of(spec.affinity, [&](const Affinity& term) {
           return suits(node, term);
         });
}

std::int64_t slots_for(const JobSpec& spec, const NodeSpec& node) {
  return count_slots(node, [&](const std::string& model) { return takes_device(spec, model); });
}

std::int64_t groups_ever(const State& state, const JobSpec& spec, std::int64_t enough) {
  if (spec.devices.empty())
    return groups_of(state, spec, enough, [](const NodeSpec& node) {
      return static_cast<std::int64_t>(node.slots.size());
    });
  std::int64_t most = 0;
  for (const std::string& model : state.topology().models()) {
    if (!takes_device(spec, model)) continue;
    most =
        std::max(most, groups_of(state, spec, enough, [&](const NodeSpec& node) {
                   return count_slots(node, [&](const std::string& its) { return its == model; });
                 }));
  }
  return most;
}

}  // namespace paceline
