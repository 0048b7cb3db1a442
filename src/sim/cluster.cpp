#include "sim/cluster.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace paceline::sim {
namespace {

constexpr std::string_view kHint = "Give nodes x slots, for example 64x8, or 2x8:A100;4x4:T4.";

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

NodeSpec node_of(const NodeKind& kind, std::size_t number) {
  NodeSpec node;
  node.name = fmt::format("node-{}", number);
  node.address = node.name;
  SlotSpec slot;
  slot.kind = SlotKind::gpu;
  slot.model = kind.model;
  node.slots.assign(static_cast<std::size_t>(kind.slots), slot);
  return node;
}

}  // namespace

Result<std::vector<NodeSpec>> parse_cluster(std::string_view text) {
  std::vector<NodeSpec> nodes;
  std::int64_t slots = 0;
  while (true) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const auto kind = parse_kind(text.substr(0, end));
    if (!kind) {
      return fail(ErrorCode::invalid,
                  fmt::format("'{}' is no nodes of a cluster.", text.substr(0, end)),
                  std::string(kHint));
    }
    slots += kind->nodes * kind->slots;
    const auto known = static_cast<std::int64_t>(nodes.size());
    if (kind->nodes > kNodesMax - known || kind->slots > kSlotsPerNodeMax || slots > kSlotsMax) {
      return fail(ErrorCode::invalid,
                  fmt::format("A simulated cluster has at most {} nodes of {} slots, and {} slots.",
                              kNodesMax, kSlotsPerNodeMax, kSlotsMax),
                  std::string(kHint));
    }
    for (std::int64_t i = 0; i < kind->nodes; ++i)
      nodes.push_back(node_of(*kind, nodes.size() + 1));
    if (end == text.size()) return nodes;
    text.remove_prefix(end + 1);
  }
}

}  // namespace paceline::sim
