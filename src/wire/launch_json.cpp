#include "wire/launch_json.hpp"

#include <nlohmann/json.hpp>

namespace paceline {
namespace {

constexpr std::size_t kWordsMax = 1 << 16;
constexpr std::size_t kPathBytesMax = 4096;
constexpr std::uint32_t kUmaskMax = 0777;

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
      .flag("shared_shm", launch.shared_shm);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (auto valid = validate(launch); !valid) return fail(std::move(valid.error()));
  return launch;
}

void write_launch(JsonWriter& json, const LaunchSpec& launch) {
  json.begin_object().key("command").begin_array();
  for (const auto& word : launch.command) json.value(word);
  json.end_array().field("shell", launch.shell).field("setup", launch.setup);
  json.key("environment").begin_object();
  for (const auto& [name, value] : launch.environment) json.field(name, value);
  json.end_object().field("directory", launch.directory).field("umask", launch.umask);
  json.field("shared_shm", launch.shared_shm).end_object();
}

}  // namespace paceline
