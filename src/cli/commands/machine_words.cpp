#include "cli/commands/machine_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "base/nearest.hpp"
#include "cli/words/labels.hpp"
#include "cli/words/units.hpp"
#include "model/label.hpp"
#include "trust/certificate_name.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 5> kLogLevels = {"trace", "debug", "info", "warning",
                                                        "error"};

// Where this machine stands and what it is called by.
Result<void> read_place(const MachineWords& typed, MachineOptions& options) {
  options.rack = typed.rack.value_or("");
  options.network_switch = typed.network_switch.value_or("");
  if (auto ok = validate_place("rack", options.rack); !ok)
    return refused_option("--rack", ok.error());
  if (auto ok = validate_place("switch", options.network_switch); !ok)
    return refused_option("--switch", ok.error());
  if (typed.advertise) {
    if (auto ok = validate_address(*typed.advertise); !ok)
      return refused_option("--advertise", ok.error());
    options.advertise = typed.advertise;
  }
  auto labels = read_labels(typed.labels);
  if (!labels) return refused_option("--label", std::move(labels.error()));
  options.labels = std::move(*labels);
  return {};
}

tl::unexpected<Error> no_such_limit(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& limit : kLimits) names.push_back(limit.name);
  const auto near = nearest(name, names);
  return fail(ErrorCode::invalid,
              fmt::format("--limit: There is no limit '{}'{}", name,
                          near ? fmt::format("; did you mean '{}'?", *near) : "."),
              "docs/limits.md and 'paceline limits' list them.");
}

Result<std::uint64_t> read_amount(const Limit& limit, std::string_view text) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (limit.min == 0 && text == "0") return 0;  // of every unit
  if (limit.unit == LimitUnit::bytes) return parse_bytes(text);
  if (limit.unit == LimitUnit::seconds) {
    return parse_duration(text).map([](Duration span) {
      return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(span).count());
    });
  }
  return parse_whole(text, {0, kLargest}).map([](std::int64_t value) {
    return static_cast<std::uint64_t>(value);
  });
}

// "connections-per-user=64"
Result<void> read_limit(std::string_view text, Limits& limits) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorCode::invalid, fmt::format("--limit: '{}' has no value.", text),
                "Write NAME=VALUE, like connections-per-user=64.");
  }
  const auto* const limit = find_limit(text.substr(0, equals));
  if (limit == nullptr) return no_such_limit(text.substr(0, equals));
  const auto value = read_amount(*limit, text.substr(equals + 1));
  if (!value) return refused_option("--limit", value.error());
  if (*value < limit->min || *value > limit->max) {
    return fail(ErrorCode::invalid, fmt::format("--limit: {} must be from {} to {}.", limit->name,
                                                limit_text(limit->unit, limit->min),
                                                limit_text(limit->unit, limit->max)));
  }
  limits.*(limit->value) = *value;
  return {};
}

Result<void> read_name(const MachineWords& typed, MachineOptions& options) {
  options.node = typed.node.value_or("");
  if (!typed.node || is_node_id(options.node)) return {};
  return fail(ErrorCode::invalid, fmt::format("--node: '{}' is no name for a node.", options.node),
              "Use up to 63 letters, digits, '.', '_' and '-'.");
}

Result<void> read_health_check(const MachineWords& typed, MachineOptions& options) {
  options.health_check = typed.health_check.value_or("");
  const bool said = options.health_check.find_first_not_of(" \t\n") != std::string::npos;
  if (said || !typed.health_check) return {};
  return fail(ErrorCode::invalid, "--health-check: There is no command.",
              "Name one, like --health-check /usr/local/bin/check-gpus, or leave the option out.");
}

Result<void> read_log_level(const MachineWords& typed, MachineOptions& options) {
  options.log_level = typed.log_level.value_or(options.log_level);
  if (std::ranges::find(kLogLevels, options.log_level) != kLogLevels.end()) return {};
  return fail(ErrorCode::invalid,
              fmt::format("--log-level: '{}' is not a level.", options.log_level),
              "Levels are trace, debug, info, warning and error.");
}

}  // namespace

tl::unexpected<Error> refused_option(std::string_view option, Error error) {
  error.message = fmt::format("{}: {}", option, error.message);
  return fail(std::move(error));
}

Result<std::string> absolute_directory(std::string_view option, const std::string& directory) {
  std::error_code ec;
  const auto absolute = std::filesystem::absolute(directory, ec).lexically_normal();
  if (ec || directory.empty()) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is not a directory.", directory),
                fmt::format("Name one with {}.", option));
  }
  return absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
}

void declare(Options& options, MachineWords& typed) {
  options.value("--slots", "N", typed.slots,
                "CPU slots to offer where there are no GPUs (one per core)");
  options.value("--memory", "SIZE", typed.memory,
                "memory that its jobs may ask for in all (what the machine has): 200G");
  options.value("--node", "NAME", typed.node, "what this machine is called (its host name)");
  options.value("--rack", "NAME", typed.rack, "rack that this machine stands in");
  options.value("--switch", "NAME", typed.network_switch, "switch above its rack");
  options.value("--advertise", "ADDRESS", typed.advertise,
                "where other nodes of a gang reach this machine (that of --listen, or by which it "
                "reaches its server)");
  options.value("--health-check", "COMMAND", typed.health_check,
                "run by sh every minute, for at most 30 s: while it fails, this machine starts no "
                "new workers, for the reason in its first line");
  options.values("--label", "KEY=VALUE", typed.labels,
                 "what jobs may ask for with --affinity; may be repeated");
  options.values("--limit", "NAME=VALUE", typed.limits,
                 "a bound of 'paceline limits'; may be repeated");
  options.value("--log-level", "LEVEL", typed.log_level,
                "trace, debug, info, warning or error (info)");
}

Result<void> refuse_server(const std::optional<std::string>& server, std::string_view option) {
  if (!server) return {};
  return fail(ErrorCode::invalid,
              "--server names a server that a command goes to; this one doesn't.",
              fmt::format("Use {}.", option));
}

Result<MachineOptions> read_machine(const MachineWords& typed) {
  constexpr Bounds kSlots{1, 100'000};
  MachineOptions options;
  if (typed.slots) {
    const auto slots = parse_whole(*typed.slots, kSlots);
    if (!slots) return fail(ErrorCode::invalid, "--slots: " + slots.error().message);
    options.slots = static_cast<int>(*slots);
  }
  if (typed.memory) {
    const auto bytes = parse_bytes(*typed.memory);
    if (!bytes) return refused_option("--memory", bytes.error());
    options.memory_bytes = *bytes;
  }
  if (auto ok = read_name(typed, options); !ok) return fail(std::move(ok.error()));
  if (auto ok = read_place(typed, options); !ok) return fail(std::move(ok.error()));
  for (const auto& text : typed.limits) {
    if (auto ok = read_limit(text, options.limits); !ok) return fail(std::move(ok.error()));
  }
  if (auto ok = read_health_check(typed, options); !ok) return fail(std::move(ok.error()));
  if (auto ok = read_log_level(typed, options); !ok) return fail(std::move(ok.error()));
  return options;
}

}  // namespace paceline
