// The parts of a state as JSON, for checkpoints: a header, and each node and job on its own, so
// that a checkpoint rewrites only what changed. The same convention as the journal's
// (wire/entry_json.hpp); everything is exact, so a state that was stored and read is the state,
// provided its strings are UTF-8.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/state.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// Everything but nodes and jobs.
void write_state_header(JsonWriter& json, const StateParts& parts);
void write_stored_node(JsonWriter& json, const Node& node);
void write_stored_job(JsonWriter& json, const Job& job);

// Errors: data, with what is wrong where.
Result<StateParts> read_state_header(std::string_view text);  // without nodes and jobs
Result<Node> read_stored_node(std::string_view text);
Result<Job> read_stored_job(std::string_view text);

// The values of a metric point.
void write_values(JsonWriter& json, const std::map<std::string, double>& values);
Result<std::map<std::string, double>> read_values(std::string_view text);

}  // namespace paceline
