#include "faults/fault_json.hpp"

#include <fmt/format.h>

#include "wire/json_writer.hpp"

namespace paceline::faults {
namespace {

void write_failed(JsonWriter& json, const FailedSeed& failed) {
  json.begin_object();
  json.field("seed", failed.seed);
  json.key("faults").begin_array();
  for (const auto& fault : failed.faults) json.value(fault);
  json.end_array();
  json.field("replay", replay_command(failed.seed));
  json.end_object();
}

}  // namespace

std::string replay_command(std::uint64_t seed) {
  return fmt::format("paceline simulate --faults {} --story", seed);
}

std::string to_json(const FaultStudy& study, const FaultStudyPlan& plan, const FaultWords& words) {
  JsonWriter json;
  json.begin_object();
  json.field("first_seed", plan.first).field("last_seed", plan.last);
  json.field("seeds", study.seeds).field("jobs", study.jobs);
  json.field("virtual_seconds", study.virtual_seconds);
  json.field("wall_seconds", words.wall_seconds);
  json.field("digest", fmt::format("{:016x}", study.digest));
  json.field("failures", study.failures);
  json.key("failed").begin_array();
  for (const FailedSeed& failed : study.failed) write_failed(json, failed);
  json.end_array();
  json.key("happened").begin_object();
  for (const auto& [what, times] : study.happened) json.field(what, times);
  json.end_object();
  json.field("command", words.command);
  json.end_object();
  return json.text();
}

}  // namespace paceline::faults
