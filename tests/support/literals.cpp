#include "support/literals.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

namespace paceline::testing {
namespace {

[[noreturn]] void unreadable(std::string_view what, std::string_view text) {
  throw std::invalid_argument(fmt::format("'{}' is not {}", text, what));
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

std::pair<std::string, std::string> halves(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

std::uint64_t gib(std::string_view text) { return static_cast<std::uint64_t>(number(text)) << 30; }

NodeSpec node(const std::string& model, std::int64_t index, std::int64_t slots) {
  NodeSpec spec;
  spec.name = fmt::format("{}-{}", model, index);
  spec.address = fmt::format("10.0.0.{}", index);
  SlotSpec slot;
  slot.kind = model == "cpu" ? SlotKind::cpu : SlotKind::gpu;
  slot.model = model;
  spec.slots.assign(static_cast<std::size_t>(slots), slot);
  return spec;
}

void describe(NodeSpec& spec, const std::string& word) {
  const auto [key, value] = halves(word, '=');
  if (value.empty()) unreadable("a property like rack=a", word);
  if (key == "rack")
    spec.rack = value;
  else if (key == "switch")
    spec.network_switch = value;
  else if (key == "cpus")
    spec.cpus = static_cast<double>(number(value));
  else if (key == "memory")
    spec.memory_bytes = gib(value);
  else if (key == "only")
    spec.only_user = value;
  else if (key == "strangers")
    spec.strangers = split(value, ',');
  else if (key == "islands") {
    for (std::size_t i = 0; i < spec.slots.size(); ++i) {
      const auto island = i * static_cast<std::size_t>(number(value)) / spec.slots.size();
      spec.slots[i].island = static_cast<std::int32_t>(island);
    }
  } else
    spec.labels[key] = value;
}

void set(JobSpec& spec, const std::string& key, const std::string& value) {
  const auto small = [&] { return static_cast<std::int32_t>(number(value)); };
  if (key == "priority")
    spec.priority = small();
  else if (key == "elastic")
    spec.elastic = must(parse_elastic(value));
  else if (key == "on_disconnect")
    spec.on_disconnect = must(parse_on_disconnect(value));
  else if (key == "checkpoint_store")
    spec.checkpoint_store = must(parse_checkpoint_store(value));
  else if (key == "slots_per_worker")
    spec.slots_per_worker = small();
  else if (key == "cpus")
    spec.cpus = static_cast<double>(number(value));
  else if (key == "memory")
    spec.memory_bytes = gib(value);
  else if (key == "retry")
    spec.retries = small();
  else if (key == "max_duration")
    spec.max_duration = span(value);
  else if (key == "expect")
    spec.expected_duration = span(value);
  else if (key == "samples")
    spec.expected_samples = static_cast<std::uint64_t>(number(value));
  else if (key == "speeds")
    spec.expected_speeds = parse_points<std::int32_t>(value).value();
  else if (key == "target")
    spec.target = must(parse_target(value));
  else if (key == "grace")
    spec.notice.grace = span(value);
  else if (key == "name")
    spec.name = value;
  else if (key == "user")
    spec.user = value;
  else if (key == "uid")
    spec.uid = static_cast<std::uint32_t>(number(value));
  else if (key == "mesh")
    spec.mesh = {static_cast<std::int32_t>(number(halves(value, 'x').first)),
                 static_cast<std::int32_t>(number(halves(value, 'x').second))};
  else if (key == "devices")
    spec.devices = split(value, ',');
  else if (key == "affinity" || key == "anti")
    spec.affinity.push_back(must(parse_affinity(value, key == "anti")));
  else if (key == "exclusive")
    spec.exclusive = true;
  else if (key == "unpreemptible")
    spec.preemptible = false;
  else if (key == "min_run")
    spec.minimum_run = span(value);
  else if (key == "stop_loss")
    spec.stop_loss = must(parse_loss_limit(value));
  else if (key == "resize_loss")
    spec.resize_loss = must(parse_loss_limit(value));
  else if (key == "deadline")
    spec.deadline = wall_from_us(1'000'000'000) + span(value);
  else if (key == "hold")
    spec.hold = true;
  else if (key == "after") {
    for (const auto& id : split(value, ','))
      spec.after.emplace_back(static_cast<std::uint32_t>(number(id)));
  } else
    unreadable("a key of a job", key);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    auto part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) unreadable("a number", text);
  return value;
}

Duration span(std::string_view text) {
  const auto unit = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = number(text.substr(0, unit));
  const auto name = text.substr(unit);
  if (name == "ms") return std::chrono::milliseconds{count};
  if (name == "s") return std::chrono::seconds{count};
  if (name == "m") return std::chrono::minutes{count};
  if (name == "h") return std::chrono::hours{count};
  unreadable("a span of time", text);
}

std::vector<NodeSpec> cluster(std::string_view text) {
  std::vector<NodeSpec> nodes;
  std::map<std::string, std::int64_t> known;  // nodes of a model so far
  for (const auto& group : split(text, ';')) {
    const auto words = split(group, ' ');
    if (words.size() < 2) unreadable("a group of nodes like 4x8 h100", group);
    const auto [count, slots] = halves(words[0], 'x');
    if (slots.empty()) unreadable("a group of nodes like 4x8 h100", group);
    for (std::int64_t i = 0; i < number(count); ++i) {
      nodes.push_back(node(words[1], known[words[1]]++, number(slots)));
      for (std::size_t w = 2; w < words.size(); ++w) describe(nodes.back(), words[w]);
    }
  }
  return nodes;
}

JobSpec job(std::string_view text) {
  JobSpec spec;
  spec.name = "train";
  spec.user = "ann";
  spec.uid = 1000;
  const auto words = split(text, ' ');
  if (words.empty()) unreadable("a job", text);
  spec.workers = must(parse_range(words.front()));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto key = halves(words[i], '=').first;
    set(spec, key, words[i].substr(std::min(key.size() + 1, words[i].size())));
  }
  return spec;
}

Ending ending(std::string_view text) {
  Ending e;
  const auto words = split(text, ' ');
  if (words.size() == 2 && words[0] == "signal") {
    e.cause = Cause::signalled;
    e.signal = static_cast<std::int32_t>(number(words[1]));
    return e;
  }
  if (const auto cause = parse_cause(text)) {
    e.cause = *cause;
    return e;
  }
  e.exit_code = static_cast<std::int32_t>(number(text));
  return e;
}

}  // namespace paceline::testing
