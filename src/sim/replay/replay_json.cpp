#include "sim/replay/replay_json.hpp"

#include "wire/json_writer.hpp"

namespace paceline::sim {

std::string to_json(const Replay& replay, const std::string& journal, const std::string& command) {
  JsonWriter json;
  json.begin_object().field("journal", journal).field("plans", replay.plans);
  json.field("entries", replay.replayed).field("folded", replay.folded);
  json.field("servers", replay.servers).field("unwritten", replay.unwritten);
  if (replay.difference) {
    const ReplayDifference& found = *replay.difference;
    json.key("difference").begin_object().field("seq", found.seq).field("at", found.at);
    json.field("recorded", unless_empty(found.recorded));
    json.field("replayed", unless_empty(found.replayed)).end_object();
  } else {
    json.null_field("difference");
  }
  return json.field("command", command).end_object().take();
}

}  // namespace paceline::sim
