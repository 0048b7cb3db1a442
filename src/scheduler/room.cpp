#include "scheduler/room.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/device_model.hpp"
#include "placement/suiting.hpp"

namespace paceline {
namespace {

// What the job's workers come in: groups that stay on one node.
struct Need {
  std::int64_t workers = 1, groups = 1, slots = 1;
  std::int32_t tensor = 1, slots_per_group = 1;
};

Need need_of(const JobSpec& spec, std::int32_t workers) {
  const std::int32_t tensor = spec.mesh.tensor;
  return {workers, workers / tensor, std::int64_t{workers} * spec.slots_per_worker, tensor,
          tensor * spec.slots_per_worker};
}

constexpr double kPlenty = std::numeric_limits<double>::infinity();

struct Supply {
  std::int64_t slots = 0, largest = 0,
               groups = 0;                  // in all; on the largest node; of the need's size
  bool whole = true;                        // the whole cluster's, not that of some nodes
  double cpus = kPlenty, memory = kPlenty;  // the most that a node has
  std::string rule;                         // that the groups keep among each other
};

tl::unexpected<Error> never(std::string message, std::string hint) {
  return fail(ErrorCode::invalid, std::move(message), std::move(hint));
}

std::string slots_text(std::int64_t slots) {
  return fmt::format("{} slot{}", slots, slots == 1 ? "" : "s");
}

std::vector<std::string> models_of(const State& state) {
  std::set<std::string> models;
  for (const Node& node : state.nodes()) {
    for (const SlotSpec& slot : node.spec.slots) models.insert(slot.model);
  }
  return {models.begin(), models.end()};
}

Result<void> some_device(const State& state, const JobSpec& spec) {
  const auto models = models_of(state);
  if (std::ranges::any_of(models, [&](const auto& model) { return takes_device(spec, model); }))
    return {};
  return never(fmt::format("No node has a device {}; there is {}.", fmt::join(spec.devices, " or "),
                           fmt::join(models, ", ")),
               "Name one of these in --devices, or leave it out.");
}

Result<void> some_node_suits(const State& state, const JobSpec& spec) {
  const auto none = [&](auto fits) {
    return std::ranges::none_of(state.nodes(),
                                [&](const Node& node) { return !node.retired && fits(node.spec); });
  };
  if (none([&](const NodeSpec& node) { return serves_user(node, spec); })) {
    return never(
        fmt::format("No node serves the jobs of user '{}'.", spec.user),
        "An agent that is not root's serves its own user alone: 'paceline nodes' shows whom.");
  }
  for (const Affinity& term : spec.affinity) {
    if (!none([&](const NodeSpec& node) { return suits(node, term); })) continue;
    const auto text = to_string(term);
    return never(
        term.anti ? fmt::format("Every node has {}, which it must be away from.", text)
                  : fmt::format("No node has {}, which it requires.", text),
        fmt::format("'paceline nodes -o wide' shows labels. {}~10m would be given up after "
                    "10 minutes.",
                    text));
  }
  if (!none([&](const NodeSpec& node) { return suits(node, spec); })) return {};
  return never("No node has all the labels that it requires together.",
               "'paceline nodes -o wide' shows labels; end a term with ~10m to give it up after 10 "
               "minutes.");
}

std::string rule_of(const OwnTerms& terms) {
  constexpr std::array kAll = {", all on one node", ", all in one rack", ", all behind one switch"};
  constexpr std::array kEach = {", each on a node of its own", ", each in a rack of its own",
                                ", each behind a switch of its own"};
  std::string rule;
  if (terms.together) rule += kAll.at(static_cast<std::size_t>(*terms.together));
  if (terms.apart) rule += kEach.at(static_cast<std::size_t>(*terms.apart));
  return rule;
}

double told(double amount) { return amount > 0 ? amount : kPlenty; }

// The room on the nodes that suit a job that is particular about them.
Supply supply_for(const State& state, const JobSpec& spec) {
  Supply room;
  room.whole = false;
  room.rule = rule_of(own_terms(spec));
  room.cpus = room.memory = 0;
  for (const Node& node : state.nodes()) {
    if (node.retired || !suits(node.spec, spec)) continue;
    const auto slots = slots_for(spec, node.spec);
    room.slots += slots;
    room.largest = std::max(room.largest, slots);
    room.cpus = std::max(room.cpus, told(node.spec.cpus));
    room.memory = std::max(room.memory, told(static_cast<double>(node.spec.memory_bytes)));
  }
  room.groups = groups_ever(state, spec, std::numeric_limits<std::int64_t>::max());
  return room;
}

Result<void> enough_for_a_worker(const JobSpec& spec, const Supply& room) {
  if (spec.cpus > room.cpus) {
    return never(fmt::format("One worker asks for {:g} cores, and the largest node that suits it "
                             "has {:g}.",
                             spec.cpus, room.cpus),
                 "--cpus counts for each worker: ask for fewer.");
  }
  constexpr double kGiB = 1U << 30;
  const double memory = static_cast<double>(spec.memory_bytes);
  if (memory > room.memory) {
    return never(fmt::format("One worker asks for {:.1f} GiB of memory, and the largest node that "
                             "suits it has {:.1f} GiB.",
                             memory / kGiB, room.memory / kGiB),
                 "--memory counts for each worker: ask for less.");
  }
  return {};
}

tl::unexpected<Error> no_such_node(const Need& need, const Supply& room) {
  const std::string_view largest = room.whole ? "largest node" : "largest node that suits it";
  if (need.tensor == 1) {
    return never(fmt::format("One worker asks for {}, and the {} has {}.",
                             slots_text(need.slots_per_group), largest, room.largest),
                 "A worker stays on one node: ask for fewer --slots-per-worker.");
  }
  return never(fmt::format("A tensor group of {} workers asks for {}, and the {} has {}.",
                           need.tensor, slots_text(need.slots_per_group), largest, room.largest),
               "A tensor group stays on one node: give a smaller tensor in --mesh.");
}

tl::unexpected<Error> too_few_groups(const Need& need, const Supply& room) {
  return never(
      fmt::format("It asks for at least {} {} of {}, and the nodes {} have room for {}{}.",
                  need.groups, need.tensor == 1 ? "workers" : "tensor groups",
                  slots_text(need.slots_per_group), room.whole ? "together" : "that suit it",
                  room.groups, room.rule),
      !room.rule.empty()
          ? "Ask for fewer workers, or end a term about 'self' with ~10m to give it up after 10 "
            "minutes."
      : need.tensor == 1
          ? "A worker stays on one node: ask for fewer workers, or less for each."
          : "A tensor group stays on one node: ask for fewer slots or a smaller tensor in --mesh.");
}

// By number alone, beside the nodes that there were.
bool comes_some_day(const State& state, const Need& need, const ComingNodes& coming) {
  const std::int64_t each = coming.slots_each, nodes = coming.nodes;
  return need.slots <= state.slots_ever() + nodes * each &&
         need.slots_per_group <= std::max<std::int64_t>(state.largest_node_ever(), each) &&
         need.groups <=
             state.workers_ever(need.slots_per_group) + nodes * (each / need.slots_per_group);
}

}  // namespace

Result<void> fits_some_day(const State& state, const JobSpec& spec, std::int32_t workers,
                           const ComingNodes& coming) {
  if (coming.nodes > 0 && comes_some_day(state, need_of(spec, workers), coming)) return {};
  if (std::ranges::all_of(state.nodes(), &Node::retired)) {
    return fail(ErrorCode::unavailable, "No node is there.", "Try again when one has joined.",
                Retry::may_help);
  }
  const Need need = need_of(spec, workers);
  Supply room;
  room.slots = state.slots_ever();
  room.largest = state.largest_node_ever();
  room.groups = state.workers_ever(need.slots_per_group);
  if (is_particular(spec) || state.topology().is_choosy()) {
    if (auto ok = some_device(state, spec); !ok) return ok;
    if (auto ok = some_node_suits(state, spec); !ok) return ok;
    room = supply_for(state, spec);
  }
  if (need.slots > room.slots) {
    return never(
        fmt::format("It asks for at least {}, and {} {}.", slots_text(need.slots),
                    room.whole ? coming.nodes > 0
                                     ? "the cluster would have, with all nodes that may come,"
                                     : "the whole cluster has"
                               : "the nodes that suit it have",
                    room.slots + std::int64_t{coming.nodes} * coming.slots_each),
        "Ask for fewer slots, or a range that begins lower (1..8). 'paceline nodes' "
        "shows what there is.");
  }
  if (need.slots_per_group > room.largest) return no_such_node(need, room);
  if (auto ok = enough_for_a_worker(spec, room); !ok) return ok;
  if (need.groups > room.groups) return too_few_groups(need, room);
  return {};
}

}  // namespace paceline
