#include "wire/spec_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace paceline {
namespace {

constexpr double kCpusMax = 1e6;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 60;
constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 60;
constexpr std::size_t kGlobBytesMax = 4096;
constexpr std::size_t kSpeedsBytesMax = 64 << 10;
constexpr std::size_t kExpressionBytesMax = 512;
constexpr std::int32_t kPriorityMax = 100;

// "2..8@4", or a plain number.
void read_workers(ObjectReader& reader, JobSpec& spec) {
  const auto* value = reader.find("workers");
  if (value == nullptr) return;
  std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  if (!value->is_string() && !value->is_number_integer()) {
    reader.mismatch("workers", "a range like \"4\", \"2..8\" or \"2..8@4\"", *value);
    return;
  }
  auto range = parse_range(text);
  if (!range) {
    reader.refuse(range.error());
    return;
  }
  spec.workers = *range;
}

template <class Word>
void read_word(ObjectReader& reader, std::string_view key, Word& word,
               Result<Word> (&parse)(std::string_view)) {
  std::string text{to_string(word)};
  reader.text(key, text, kExpressionBytesMax);
  if (!reader.ok()) return;
  const auto read = parse(text);
  if (!read) {
    reader.refuse(read.error());
    return;
  }
  word = *read;
}

void read_target(ObjectReader& reader, JobSpec& spec) {
  std::string deliver, final;
  reader.text("target", deliver, kExpressionBytesMax)
      .text("target_final", final, kExpressionBytesMax);
  if (!reader.ok() || (deliver.empty() && final.empty())) return;
  if (deliver.empty()) {
    reader.refuse({ErrorCode::invalid, "'target_final' needs 'target'.",
                   "Give both tiers, or 'target' alone for one.", Retry::useless});
    return;
  }
  auto target = final.empty() ? parse_target(deliver) : parse_target(deliver, final);
  if (!target) {
    reader.refuse(target.error());
    return;
  }
  spec.target = std::move(*target);
}

void read_mesh(ObjectReader& reader, JobSpec& spec) {
  const auto* value = reader.find("mesh");
  if (value == nullptr) return;
  ObjectReader mesh(*value, "'mesh' in spec");
  mesh.whole("tensor", spec.mesh.tensor, 1, kMeshMax);
  mesh.whole("pipeline", spec.mesh.pipeline, 1, kMeshMax);
  if (auto read = mesh.finish(); !read) reader.refuse(std::move(read.error()));
}

// Terms to be near or, where `anti`, away from; they add to the spec's.
void read_affinity(ObjectReader& reader, std::string_view key, bool anti, JobSpec& spec) {
  std::vector<std::string> terms;
  reader.texts(key, terms, kAffinityMax);
  for (const auto& term : terms) {
    auto affinity = parse_affinity(term, anti);
    if (!affinity) {
      affinity.error().message = fmt::format("'{}' in spec: {}", key, affinity.error().message);
      reader.refuse(std::move(affinity.error()));
      return;
    }
    spec.affinity.push_back(std::move(*affinity));
  }
}

void read_places(ObjectReader& reader, JobSpec& spec) {
  read_mesh(reader, spec);
  reader.texts("devices", spec.devices, kDevicesMax);
  read_affinity(reader, "affinity", false, spec);
  read_affinity(reader, "anti_affinity", true, spec);
  reader.flag("exclusive", spec.exclusive);
}

void read_resources(ObjectReader& reader, JobSpec& spec) {
  read_workers(reader, spec);
  reader.whole("slots_per_worker", spec.slots_per_worker, 1, kSlotsPerWorkerMax)
      .real("cpus", spec.cpus, 0, kCpusMax)
      .whole("memory_bytes", spec.memory_bytes, 0, kMemoryMax)
      .whole("log_limit_bytes", spec.log_limit_bytes, 0, kMemoryMax)
      .flag("preemptible", spec.preemptible)
      .whole("priority", spec.priority, 0, kPriorityMax);
}

// "1:1,2:1.9,4:3.5".
void read_speeds(ObjectReader& reader, JobSpec& spec) {
  std::string text;
  reader.text("expect_speeds", text, kSpeedsBytesMax);
  if (!reader.ok() || text.empty()) return;
  auto speeds = parse_points<std::int32_t>(text);
  if (!speeds) {
    reader.refuse({ErrorCode::invalid,
                   "'expect_speeds' in spec must be sizes that rise, each with its speed.",
                   "Write them as 1:1,2:1.9,4:3.5.", Retry::useless});
    return;
  }
  spec.expected_speeds = std::move(*speeds);
}

void read_times(ObjectReader& reader, JobSpec& spec) {
  reader.seconds("max_duration_seconds", spec.max_duration)
      .seconds("min_run_seconds", spec.minimum_run)
      .real("stop_loss", spec.stop_loss, 0, 1)
      .real("resize_loss", spec.resize_loss, 0, 1)
      .seconds("expect_seconds", spec.expected_duration)
      .whole("expect_samples", spec.expected_samples, 1, kSamplesMax)
      .time("deadline_at", spec.deadline);
  read_speeds(reader, spec);
}

void read_course(ObjectReader& reader, JobSpec& spec) {
  reader.whole("retry", spec.retries, 0, kRetriesMax);
  read_word(reader, "elastic", spec.elastic, parse_elastic);
  read_word(reader, "on_disconnect", spec.on_disconnect, parse_on_disconnect);
  read_word(reader, "checkpoint_store", spec.checkpoint_store, parse_checkpoint_store);
  reader.text("checkpoint", spec.checkpoint_glob, kGlobBytesMax);
  read_target(reader, spec);
  std::vector<std::int64_t> after;
  reader.wholes("after", after, 1, std::numeric_limits<std::uint32_t>::max(), kAfterMax);
  for (const auto id : after) spec.after.emplace_back(static_cast<std::uint32_t>(id));
}

std::string expression(const Target& target, double threshold) {
  return fmt::format("{}{}{}", target.metric, to_string(target.direction), threshold);
}

void write_target(JsonWriter& json, const std::optional<Target>& target) {
  if (!target) {
    json.null_field("target").null_field("target_final");
    return;
  }
  json.field("target", expression(*target, target->deliver));
  json.field("target_final", expression(*target, target->final));
}

void write_affinity(JsonWriter& json, std::string_view key, bool anti, const JobSpec& spec) {
  json.key(key).begin_array();
  for (const auto& affinity : spec.affinity) {
    if (affinity.anti == anti) json.value(to_string(affinity));
  }
  json.end_array();
}

}  // namespace

Result<JobSpec> read_spec(const Json& json, JobSpec defaults) {
  JobSpec spec = std::move(defaults);
  ObjectReader reader(json, "spec");
  reader.text("name", spec.name, kNameLengthMax);
  read_resources(reader, spec);
  read_places(reader, spec);
  read_times(reader, spec);
  read_course(reader, spec);
  reader.flag("hold", spec.hold)
      .flag("pty", spec.pty)
      .whole("signal", spec.notice.signal, 1, kSignalMax)
      .seconds("grace_seconds", spec.notice.grace);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (auto valid = validate(spec); !valid) return fail(std::move(valid.error()));
  return spec;
}

void write_places(JsonWriter& json, const JobSpec& spec) {
  json.key("mesh").begin_object().field("tensor", spec.mesh.tensor);
  json.field("pipeline", spec.mesh.pipeline).end_object().key("devices").begin_array();
  for (const auto& device : spec.devices) json.value(device);
  json.end_array();
  write_affinity(json, "affinity", false, spec);
  write_affinity(json, "anti_affinity", true, spec);
  json.field("exclusive", spec.exclusive);
}

void write_spec(JsonWriter& json, const JobSpec& spec) {
  json.begin_object().field("name", spec.name).field("workers", to_string(spec.workers));
  json.field("slots_per_worker", spec.slots_per_worker);
  write_places(json, spec);
  json.field("cpus", unless_zero(spec.cpus)).field("memory_bytes", unless_zero(spec.memory_bytes));
  json.field("log_limit_bytes", unless_zero(spec.log_limit_bytes));
  json.field("preemptible", spec.preemptible).field("priority", spec.priority);
  json.field("max_duration_seconds", spec.max_duration).field("min_run_seconds", spec.minimum_run);
  json.field("stop_loss", spec.stop_loss).field("resize_loss", spec.resize_loss);
  json.field("expect_seconds", spec.expected_duration);
  json.field("expect_samples", spec.expected_samples);
  json.field("expect_speeds", unless_empty(points_text(spec.expected_speeds)));
  json.field("deadline_at", spec.deadline);
  json.field("retry", spec.retries).field("elastic", to_string(spec.elastic));
  json.field("on_disconnect", to_string(spec.on_disconnect));
  json.field("checkpoint_store", to_string(spec.checkpoint_store));
  json.field("checkpoint", spec.checkpoint_glob);
  write_target(json, spec.target);
  json.key("after").begin_array();
  for (const auto id : spec.after) json.value(id.value);
  json.end_array().field("hold", spec.hold).field("pty", spec.pty);
  json.field("signal", spec.notice.signal).field("grace_seconds", spec.notice.grace).end_object();
}

}  // namespace paceline
