#include "sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace paceline::sim {
namespace {

constexpr std::string_view kClusterHint =
    "Give nodes x slots, for example 64x8, or 2x8:A100;4x4:T4.";

// A whole number of at least 1 at the start of the text, which it takes off.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return count;
}

struct NodeKind {
  std::int64_t nodes = 0, slots = 0;
  std::string model;
};

std::optional<NodeKind> parse_kind(std::string_view text) {
  NodeKind kind;
  const auto nodes = take_count(text);
  if (!nodes || !text.starts_with('x')) return std::nullopt;
  text.remove_prefix(1);
  const auto slots = take_count(text);
  if (!slots || (!text.empty() && (text[0] != ':' || text.size() == 1))) return std::nullopt;
  kind.nodes = *nodes;
  kind.slots = *slots;
  kind.model = text.empty() ? "gpu" : std::string(text.substr(1));
  return kind;
}

NodeSpec node_of(const NodeKind& kind, std::string name) {
  NodeSpec node;
  node.name = std::move(name);
  node.address = node.name;
  SlotSpec slot;
  slot.kind = SlotKind::gpu;
  slot.model = kind.model;
  node.slots.assign(static_cast<std::size_t>(kind.slots), slot);
  return node;
}

// Nodes of a kind that are called `prefix` and a number.
Result<void> add_nodes(std::vector<NodeSpec>& nodes, std::string_view text,
                       std::string_view prefix) {
  const auto kind = parse_kind(text);
  if (!kind)
    return fail(ErrorCode::invalid, fmt::format("'{}' is no nodes of a cluster.", text),
                std::string(kClusterHint));
  const auto known = static_cast<std::int64_t>(nodes.size());
  if (kind->nodes > kNodesMax - known || kind->slots > kSlotsPerNodeMax ||
      slots_of(nodes) + kind->nodes * kind->slots > kSlotsMax) {
    return fail(ErrorCode::invalid,
                fmt::format("A simulated cluster has at most {} nodes of {} slots, and {} slots.",
                            kNodesMax, kSlotsPerNodeMax, kSlotsMax),
                std::string(kClusterHint));
  }
  for (std::int64_t i = 0; i < kind->nodes; ++i)
    nodes.push_back(node_of(*kind, fmt::format("{}{}", prefix, nodes.size() + 1)));
  return {};
}

// The slot that every node has only; none if there are several kinds of them.
std::optional<SlotSpec> only_slot(const std::vector<NodeSpec>& nodes) {
  std::optional<SlotSpec> only;
  for (const NodeSpec& node : nodes) {
    for (const SlotSpec& slot : node.slots) {
      if (!only) only = slot;
      if (only->kind != slot.kind || only->model != slot.model) return std::nullopt;
    }
  }
  if (only) only->uuid.clear();
  return only;
}

Result<void> take_away(std::vector<NodeSpec>& nodes, std::string_view name) {
  if (std::erase_if(nodes, [&](const NodeSpec& node) { return node.name == name; }) > 0) return {};
  return fail(ErrorCode::not_found, fmt::format("There is no node '{}' to take away.", name),
              nodes.empty() ? "" : fmt::format("The first one is called {}.", nodes.front().name));
}

Result<void> change_once(std::vector<NodeSpec>& nodes, std::string_view part) {
  if (part.starts_with('-')) return take_away(nodes, part.substr(1));
  if (!part.starts_with('+')) {
    return fail(ErrorCode::invalid,
                fmt::format("'{}' neither adds nodes nor takes one away.", part),
                "Give +nodes x slots or -NAME, for example '+2x8:A100;-node-3'.");
  }
  const std::size_t before = nodes.size();
  const auto only = only_slot(nodes);
  if (auto ok = add_nodes(nodes, part.substr(1), "what-if-"); !ok) return ok;
  if (!only || part.find(':') != std::string_view::npos) return {};
  for (std::size_t i = before; i < nodes.size(); ++i)
    std::fill(nodes[i].slots.begin(), nodes[i].slots.end(), *only);
  return {};
}

}  // namespace

std::int64_t slots_of(const std::vector<NodeSpec>& nodes) {
  std::int64_t slots = 0;
  for (const NodeSpec& node : nodes) slots += static_cast<std::int64_t>(node.slots.size());
  return slots;
}

Result<std::vector<NodeSpec>> parse_cluster(std::string_view text) {
  std::vector<NodeSpec> nodes;
  while (true) {
    const std::size_t end = std::min(text.find(';'), text.size());
    if (auto ok = add_nodes(nodes, text.substr(0, end), "node-"); !ok) return fail(ok.error());
    if (end == text.size()) return nodes;
    text.remove_prefix(end + 1);
  }
}

std::string cluster_text(const std::vector<NodeSpec>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    const auto words = [](const NodeSpec& node) {
      return fmt::format("x{}:{}", node.slots.size(), node.slots.front().model);
    };
    const std::string same = words(nodes[i]);
    std::size_t end = i;
    while (end < nodes.size() && words(nodes[end]) == same) ++end;
    text += fmt::format("{}{}{}", text.empty() ? "" : ";", end - i, same);
    i = end;
  }
  return text;
}

Result<void> change_cluster(std::vector<NodeSpec>& nodes, std::string_view what_if) {
  while (true) {
    const std::size_t end = std::min(what_if.find(';'), what_if.size());
    if (auto ok = change_once(nodes, what_if.substr(0, end)); !ok) return ok;
    if (end == what_if.size()) break;
    what_if.remove_prefix(end + 1);
  }
  if (!nodes.empty()) return {};
  return fail(ErrorCode::invalid, "No node is left to simulate.", "Leave one, or add others.");
}

}  // namespace paceline::sim
