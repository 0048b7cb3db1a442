// What a job's owner asks to be told, as JSON: the keys of `notify` in docs/api.md, and what the store
// keeps. Private to its owner.
#pragma once

#include "base/result.hpp"
#include "notify/notify.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// Errors: invalid, naming the key, what it must be and what it is.
Result<Notify> read_notify(const Json& json);
Result<Notify> read_notify(std::string_view text);

// Every key. read_notify(notify_text(notify)) == notify.
void write_notify(JsonWriter& json, const Notify& notify);
std::string notify_text(const Notify& notify);

}  // namespace paceline
