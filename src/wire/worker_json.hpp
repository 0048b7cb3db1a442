// What is said of one worker (model/worker.hpp) as JSON objects; the worker's key is flat in each:
// {"job":7,"generation":3,"rank":0,…}. Times are seconds since 1970, absent what is not known.
// read(write(x)) equals x for finite numbers and UTF-8 strings.
#pragma once

#include "base/result.hpp"
#include "model/worker.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// The key's three fields, into an object that is open / from the reader of one.
void write_key(JsonWriter& json, const WorkerKey& key);
void read_key(ObjectReader& reader, WorkerKey& key);

void write_body(JsonWriter& json, const WorkerLaunch& worker);
void write_body(JsonWriter& json, const WorkerRuns& runs);
void write_body(JsonWriter& json, const WorkerGone& gone);
void write_body(JsonWriter& json, const WorkerReport& report);
void write_body(JsonWriter& json, const CheckpointSeen& checkpoint);
void write_body(JsonWriter& json, const Claim& claim);

// Errors: invalid, naming the key, what it must be and what it is.
Result<void> read_body(const Json& json, WorkerLaunch& worker);
Result<void> read_body(const Json& json, WorkerRuns& runs);
Result<void> read_body(const Json& json, WorkerGone& gone);
Result<void> read_body(const Json& json, WorkerReport& report);
Result<void> read_body(const Json& json, CheckpointSeen& checkpoint);
Result<void> read_body(const Json& json, Claim& claim);

}  // namespace paceline
