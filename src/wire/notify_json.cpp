#include "wire/notify_json.hpp"

#include <nlohmann/json.hpp>

namespace paceline {

Result<Notify> read_notify(const Json& json) {
  Notify notify;
  std::vector<std::string> to, on;
  ObjectReader reader(json, "notify");
  reader.require({"to"}).texts("to", to, kAddressesMax).texts("on", on, 2 * kMessageKinds.size());
  reader.seconds("stalled_after_seconds", notify.stalled_after);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  for (const auto& text : to) {
    auto address = parse_address(text);
    if (!address) return fail(std::move(address.error()));
    notify.to.push_back(std::move(*address));
  }
  if (!on.empty()) notify.on.clear();
  for (const auto& text : on) {
    const auto kind = parse_message_kind(text);
    if (!kind) return fail(kind.error());
    notify.on.insert(*kind);
  }
  if (auto valid = validate(notify); !valid) return fail(std::move(valid.error()));
  return notify;
}

Result<Notify> read_notify(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return fail(json.error());
  return read_notify(*json);
}

void write_notify(JsonWriter& json, const Notify& notify) {
  json.begin_object().key("to").begin_array();
  for (const auto& address : notify.to) json.value(address);
  json.end_array().key("on").begin_array();
  for (const auto kind : notify.on) json.value(to_string(kind));
  json.end_array().field("stalled_after_seconds", notify.stalled_after).end_object();
}

std::string notify_text(const Notify& notify) {
  JsonWriter json;
  write_notify(json, notify);
  return json.take();
}

}  // namespace paceline
