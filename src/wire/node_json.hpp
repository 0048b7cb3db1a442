// A machine as JSON:
// {"name","address","rack","cpus","memory_bytes","slots":[{"kind","model","uuid","memory_bytes","usable","note"}…]}.
#pragma once

#include "base/result.hpp"
#include "model/node.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

inline constexpr std::size_t kNodeSlotsMax = 65'536;

// Errors: invalid, naming the key, what it must be and what it is.
Result<NodeSpec> read_node(const Json& json);

void write_node(JsonWriter& json, const NodeSpec& node);

}  // namespace paceline
