#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "base/nearest.hpp"
#include "cli/client/locate.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/labels.hpp"
#include "cli/words/units.hpp"
#include "model/label.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 5> kLogLevels = {"trace", "debug", "info", "warning",
                                                        "error"};

struct Up {
  std::optional<std::string> directory, move_from, slots, policy, placement, patience,
      reclaim_after, log_level, rack, network_switch, keep, journal_size, listen, metrics, messages;
  std::vector<std::string> labels, limits;
  bool accept_older_journal = false, detach = false, metrics_of_jobs = false;
};

tl::unexpected<Error> up_refused(std::string_view option, Error error) {
  error.message = fmt::format("{}: {}", option, error.message);
  return fail(std::move(error));
}

// Where this machine stands and what it is called by.
Result<void> read_place(const Up& typed, UpOptions& options) {
  options.rack = typed.rack.value_or("");
  options.network_switch = typed.network_switch.value_or("");
  if (auto ok = validate_place("rack", options.rack); !ok) return up_refused("--rack", ok.error());
  if (auto ok = validate_place("switch", options.network_switch); !ok)
    return up_refused("--switch", ok.error());
  auto labels = read_labels(typed.labels);
  if (!labels) return up_refused("--label", std::move(labels.error()));
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
  if (!value) return up_refused("--limit", value.error());
  if (*value < limit->min || *value > limit->max) {
    return fail(ErrorCode::invalid, fmt::format("--limit: {} must be from {} to {}.", limit->name,
                                                limit_text(limit->unit, limit->min),
                                                limit_text(limit->unit, limit->max)));
  }
  limits.*(limit->value) = *value;
  return {};
}

// What is kept, and for how long.
Result<void> read_keeping(const Up& typed, UpOptions& options) {
  if (typed.keep) {
    const auto keep = parse_duration(*typed.keep);
    if (!keep) return up_refused("--keep", keep.error());
    options.keep = *keep;
  }
  if (typed.journal_size) {
    const auto size = parse_bytes(*typed.journal_size);
    if (!size) return up_refused("--journal-size", size.error());
    options.journal_size = *size;
  }
  return {};
}

Result<std::string> absolute_of(std::string_view option, const std::string& directory) {
  std::error_code ec;
  const auto absolute = std::filesystem::absolute(directory, ec).lexically_normal();
  if (ec || directory.empty()) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is not a directory.", directory),
                fmt::format("Name one with {}.", option));
  }
  return absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
}

Result<void> read_directories(const Up& typed, const Environment& environment, UpOptions& options) {
  auto named =
      typed.directory ? Result<std::string>(*typed.directory) : default_directory(environment);
  if (named) named = absolute_of("--dir", *named);
  if (!named) return fail(std::move(named.error()));
  options.directory = options.socket_directory = std::move(*named);
  if (typed.move_from) {
    auto old = absolute_of("--move-from", *typed.move_from);
    if (!old) return fail(std::move(old.error()));
    options.move_from = std::move(*old);
  }
  if (options.directory != kSystemState) return {};
  options.socket_directory = kSystemSockets;
  options.former_directory = data_folder(environment).value_or("");
  return {};
}

Result<UpOptions> read(const Up& typed, const Environment& environment) {
  constexpr Bounds kSlots{1, 100'000};
  UpOptions options;
  if (auto ok = read_directories(typed, environment, options); !ok)
    return fail(std::move(ok.error()));
  options.detach = typed.detach;
  if (typed.slots) {
    const auto slots = parse_whole(*typed.slots, kSlots);
    if (!slots) return fail(ErrorCode::invalid, "--slots: " + slots.error().message);
    options.slots = static_cast<int>(*slots);
  }
  if (auto ok = read_place(typed, options); !ok) return fail(std::move(ok.error()));
  for (const auto& text : typed.limits) {
    if (auto ok = read_limit(text, options.limits); !ok) return fail(std::move(ok.error()));
  }
  options.policy = typed.policy;
  options.placement = typed.placement;
  options.accept_older_journal = typed.accept_older_journal;
  options.patience = typed.patience;
  if (typed.reclaim_after) {
    const auto after = parse_reclaim_after(*typed.reclaim_after);
    if (!after) return up_refused("--reclaim-after", after.error());
    options.reclaim_after = *after;
  }
  if (auto ok = read_keeping(typed, options); !ok) return fail(std::move(ok.error()));
  if (typed.listen) {
    auto at = parse_tcp_address(*typed.listen);
    if (!at) return up_refused("--listen", std::move(at.error()));
    options.listen = std::move(*at);
  }
  if (typed.metrics) {
    auto at = parse_tcp_address(*typed.metrics);
    if (!at) return up_refused("--metrics", std::move(at.error()));
    options.metrics = std::move(*at);
  }
  options.metrics_of_jobs = typed.metrics_of_jobs;
  if (typed.messages) {
    std::error_code ec;
    options.messages = std::filesystem::absolute(*typed.messages, ec).string();
  }
  options.log_level = typed.log_level.value_or(options.log_level);
  if (std::ranges::find(kLogLevels, options.log_level) == kLogLevels.end()) {
    return fail(ErrorCode::invalid,
                fmt::format("--log-level: '{}' is not a level.", options.log_level),
                "Levels are trace, debug, info, warning and error.");
  }
  return options;
}

}  // namespace

Command up_command() {
  return {"up",
          "",
          "Server",
          "Start the server and this machine's agent",
          "paceline up\npaceline up --detach --slots 4",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Up>();
            options.value("--dir", "DIR", typed->directory,
                          "where state and socket live ($PACELINE_DIR; else root's is "
                          "/var/lib/paceline, served at /run/paceline, and others' their data "
                          "folder)");
            options.flag("--detach", typed->detach,
                         "go on in the background once it serves; its messages: DIR/server.log");
            options.value("--move-from", "OLD", typed->move_from,
                          "take over the directory of a server that does not run");
            options.value("--slots", "N", typed->slots,
                          "CPU slots to offer where there are no GPUs (one per core)");
            options.value("--policy", "NAME", typed->policy, "policy to begin with");
            options.value("--placement", "NAME", typed->placement,
                          "where workers stand: pack (default), spread or any");
            options.value("--patience", "SPAN", typed->patience,
                          "how long a job is passed over before slots are kept for it: 30m, off "
                          "(auto: 30m, more for long jobs)");
            options.value("--reclaim-after", "SPAN", typed->reclaim_after,
                          "how long a job that never saved is asked before it is stopped for "
                          "others (as before; at first 10m)");
            options.value("--rack", "NAME", typed->rack, "rack that this machine stands in");
            options.value("--switch", "NAME", typed->network_switch, "switch above its rack");
            options.values("--label", "KEY=VALUE", typed->labels,
                           "what jobs may ask for with --affinity; may be repeated");
            options.values("--limit", "NAME=VALUE", typed->limits,
                           "a bound of 'paceline limits'; may be repeated");
            options.value("--keep", "SPAN", typed->keep,
                          "how long points and logs of a job are kept whole after its end; after "
                          "twice that it is dropped: 90d (for ever)");
            options.value("--journal-size", "SIZE", typed->journal_size,
                          "of the journal's segments; the oldest are removed beyond it: 10G (all "
                          "are kept)");
            options.value("--listen", "ADDRESS:PORT", typed->listen,
                          "serve people on other machines there, by TLS and tokens: 0.0.0.0:7443");
            options.value("--metrics", "[ADDRESS:]PORT", typed->metrics,
                          "serve GET /metrics there for Prometheus, to anybody who can connect "
                          "(127.0.0.1)");
            options.flag("--metrics-of-jobs", typed->metrics_of_jobs,
                         "tell in /metrics of each job, too");
            options.value("--messages", "FILE", typed->messages,
                          "how people are told of jobs: a mail relay, web hooks "
                          "(docs/operations.md)");
            options.flag("--accept-older-journal", typed->accept_older_journal,
                         "go on though the journal lost its end; no job's number is given again");
            options.value("--log-level", "LEVEL", typed->log_level,
                          "trace, debug, info, warning or error (info)");
            return [typed](Context& context) -> Result<int> {
              const auto read_options = read(*typed, context.environment);
              if (!read_options) return fail(read_options.error());
              return context.hooks.up(*read_options);
            };
          }};
}

}  // namespace paceline
