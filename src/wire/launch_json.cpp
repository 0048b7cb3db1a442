#include "wire/launch_json.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace paceline {
namespace {

constexpr std::size_t kWordsMax = 1 << 16;
constexpr std::size_t kPathBytesMax = 4096;
constexpr std::uint32_t kUmaskMax = 0777;
constexpr std::size_t kShipNameBytes = 64;

Result<ShippedDirectory> read_shipped(const Json& json) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  ShippedDirectory shipped;
  ObjectReader reader(json, "shipped");
  reader.require({"ship"}).text("ship", shipped.ship, kShipNameBytes);
  reader.whole("files", shipped.files, 0, kMost).whole("bytes", shipped.bytes, 0, kMost);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return shipped;
}

}  // namespace

Result<LaunchSpec> read_launch(const Json& json) {
  LaunchSpec launch;
  ObjectReader reader(json, "launch");
  reader.require({"command", "directory"})
      .texts("command", launch.command, kWordsMax)
      .flag("shell", launch.shell)
      .text("setup", launch.setup, kCommandBytesMax)
      .text_map("environment", launch.environment, kWordsMax)
      .text("directory", launch.directory, kPathBytesMax)
      .whole("umask", launch.umask, 0, kUmaskMax)
      .flag("shared_shm", launch.shared_shm)
      .texts("witnesses", launch.witnesses, kWitnessesMax);
  const auto* shipped_json = reader.find("shipped");
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (shipped_json != nullptr) {
    auto shipped = read_shipped(*shipped_json);
    if (!shipped) return fail(std::move(shipped.error()));
    launch.shipped = std::move(*shipped);
  }
  if (auto valid = validate(launch); !valid) return fail(std::move(valid.error()));
  return launch;
}

void write_shipped(JsonWriter& json, const ShippedDirectory& shipped) {
  json.begin_object().field("ship", shipped.ship).field("files", shipped.files);
  json.field("bytes", shipped.bytes).end_object();
}

void write_launch(JsonWriter& json, const LaunchSpec& launch) {
  json.begin_object().key("command").begin_array();
  for (const auto& word : launch.command) json.value(word);
  json.end_array().field("shell", launch.shell).field("setup", launch.setup);
  json.key("environment").begin_object();
  for (const auto& [name, value] : launch.environment) json.field(name, value);
  json.end_object().field("directory", launch.directory).field("umask", launch.umask);
  json.field("shared_shm", launch.shared_shm);
  if (!launch.shipped.ship.empty()) {
    json.key("shipped");
    write_shipped(json, launch.shipped);
  }
  if (!launch.witnesses.empty()) {
    json.key("witnesses").begin_array();
    for (const auto& witness : launch.witnesses) json.value(witness);
    json.end_array();
  }
  json.end_object();
}

}  // namespace paceline
