// A job's spec as JSON: the keys of `spec` in docs/api.md. The submitting user is not among them:
// it comes from the socket.
#pragma once

#include "base/result.hpp"
#include "model/job_spec.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// What is left out stays as in `defaults`. Errors: invalid, naming the key, what it must be and
// what it is.
Result<JobSpec> read_spec(const Json& json, JobSpec defaults = {});

// Every key, in the order of docs/api.md; null or empty where nothing was asked for.
// read_spec(write_spec(spec)) equals `spec` but for `user` and `uid`, and that its affinities come
// before its anti-affinities.
void write_spec(JsonWriter& json, const JobSpec& spec);

// Of these the keys that say where workers may stand, `mesh` to `exclusive`, into an open object.
void write_places(JsonWriter& json, const JobSpec& spec);

}  // namespace paceline
