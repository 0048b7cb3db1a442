// Where a node stands, as JSON: {"rack", "switch", "labels": {…}}; null: nothing is said.
#pragma once

#include "joining/known_node.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// Into the object that is open.
void write_place(JsonWriter& json, const NodePlace& place);
// From the object that is being read. Errors of the reader: also what model/label.hpp refuses.
void read_place(ObjectReader& reader, NodePlace& place);

}  // namespace paceline
