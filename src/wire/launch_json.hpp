// What starts a job's workers, as JSON: the keys of `launch` in docs/api.md. Private to its owner:
// it travels from the CLI to the server, from there to agents, and is never shown.
#pragma once

#include "base/result.hpp"
#include "model/launch.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// Errors: invalid, naming the key, what it must be and what it is; too_large.
Result<LaunchSpec> read_launch(const Json& json);

// {"ship", "files", "bytes"}
void write_shipped(JsonWriter& json, const ShippedDirectory& shipped);

// Every key, but `shipped` and `witnesses` only where something is. read_launch(write_launch(launch))
// equals `launch`, provided its strings are UTF-8.
void write_launch(JsonWriter& json, const LaunchSpec& launch);

}  // namespace paceline
