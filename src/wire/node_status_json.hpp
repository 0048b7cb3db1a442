// A node and its slots as docs/api.md shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/state.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// "down" (its node is), "unusable", "promised", "ending", "leased", "refusing" (its node starts
// nothing for now) or "free", the first that holds.
std::string_view slot_state(const Node& node, std::uint32_t index);

// How a node came to the server, where it joined it from another machine.
struct NodeJoin {
  WallTime at = {};
  std::uint64_t serial = 0;  // of its newest identity
  bool removed = false;
  // Since its last word, and the program's that it came from. Nothing: it has not connected since the
  // server started.
  std::optional<Duration> silent = {};
  std::string version = {};
};

// Slots that the node has no longer are told of while a worker is on them.
void write_node_status(JsonWriter& json, const State& state, const Node& node,
                       const std::optional<NodeJoin>& join = {});

}  // namespace paceline
