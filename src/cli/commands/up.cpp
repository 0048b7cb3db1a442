#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/client/locate.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/machine_words.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct Up {
  MachineWords machine;
  std::optional<std::string> directory, move_from, policy, placement, patience, reclaim_after, keep,
      journal_size, listen, metrics, messages;
  bool accept_older_journal = false, detach = false, metrics_of_jobs = false;
};

// What is kept, and for how long.
Result<void> read_keeping(const Up& typed, UpOptions& options) {
  if (typed.keep) {
    const auto keep = parse_duration(*typed.keep);
    if (!keep) return refused_option("--keep", keep.error());
    options.keep = *keep;
  }
  if (typed.journal_size) {
    const auto size = parse_bytes(*typed.journal_size);
    if (!size) return refused_option("--journal-size", size.error());
    options.journal_size = *size;
  }
  return {};
}

// systemd starts root's server without HOME, and there the folder is the same.
std::string former_directory(const Environment& environment) {
  if (auto folder = data_folder(environment)) return *folder;
  return data_folder_of(::geteuid()).value_or("");
}

Result<void> read_directories(const Up& typed, const Environment& environment, UpOptions& options) {
  auto named =
      typed.directory ? Result<std::string>(*typed.directory) : default_directory(environment);
  if (named) named = absolute_directory("--dir", *named);
  if (!named) return fail(std::move(named.error()));
  options.directory = options.socket_directory = std::move(*named);
  if (typed.move_from) {
    auto old = absolute_directory("--move-from", *typed.move_from);
    if (!old) return fail(std::move(old.error()));
    options.move_from = std::move(*old);
  }
  if (options.directory != kSystemState) return {};
  options.socket_directory = kSystemSockets;
  options.former_directory = former_directory(environment);
  return {};
}

Result<UpOptions> read(const Up& typed, const Environment& environment) {
  UpOptions options;
  auto machine = read_machine(typed.machine);
  if (!machine) return fail(std::move(machine.error()));
  static_cast<MachineOptions&>(options) = std::move(*machine);
  if (auto ok = read_directories(typed, environment, options); !ok)
    return fail(std::move(ok.error()));
  options.detach = typed.detach;
  options.policy = typed.policy;
  options.placement = typed.placement;
  options.accept_older_journal = typed.accept_older_journal;
  options.patience = typed.patience;
  if (typed.reclaim_after) {
    const auto after = parse_reclaim_after(*typed.reclaim_after);
    if (!after) return refused_option("--reclaim-after", after.error());
    options.reclaim_after = *after;
  }
  if (auto ok = read_keeping(typed, options); !ok) return fail(std::move(ok.error()));
  if (typed.listen) {
    auto at = parse_tcp_address(*typed.listen);
    if (!at) return refused_option("--listen", std::move(at.error()));
    options.listen = std::move(*at);
  }
  if (typed.metrics) {
    auto at = parse_tcp_address(*typed.metrics);
    if (!at) return refused_option("--metrics", std::move(at.error()));
    options.metrics = std::move(*at);
  }
  options.metrics_of_jobs = typed.metrics_of_jobs;
  if (typed.messages) {
    std::error_code ec;
    options.messages = std::filesystem::absolute(*typed.messages, ec).string();
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
            options.value("--policy", "NAME", typed->policy, "policy to begin with");
            options.value("--placement", "NAME", typed->placement,
                          "where workers stand: pack (default), spread or any");
            options.value("--patience", "SPAN", typed->patience,
                          "how long a job is passed over before slots are kept for it: 30m, off "
                          "(auto: 30m, more for long jobs)");
            options.value("--reclaim-after", "SPAN", typed->reclaim_after,
                          "how long a job that never saved is asked before it is stopped for "
                          "others (as before; at first 10m)");
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
            declare(options, typed->machine);
            return [typed](Context& context) -> Result<int> {
              if (auto ok = refuse_server(context.server, "--dir"); !ok)
                return fail(std::move(ok.error()));
              const auto read_options = read(*typed, context.environment);
              if (!read_options) return fail(read_options.error());
              return context.hooks.up(*read_options);
            };
          }};
}

}  // namespace paceline
