#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/client/contexts.hpp"
#include "cli/client/locate.hpp"
#include "cli/client/secret_input.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/machine_words.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct AgentWords {
  MachineWords machine;
  std::optional<std::string> directory, join, token, token_file, lease;
  bool serve_root = false, detach = false, guest = false;
};

// A machine keeps to these; the others are a server's.
constexpr std::array<std::string_view, 7> kOfMachines = {
    "worker-processes", "logs-per-user", "logs-per-job",      "log-at-end",
    "ships-per-user",   "ships",         "checkpoint-entries"};

Result<void> check_limits(const AgentWords& typed) {
  for (const std::string_view text : typed.machine.limits) {
    const auto name = text.substr(0, text.find('='));
    if (find_limit(name) == nullptr || std::ranges::count(kOfMachines, name) > 0) continue;
    return fail(ErrorCode::invalid, fmt::format("--limit: {} is a bound of servers.", name),
                fmt::format("Bounds of a machine are {}.", fmt::join(kOfMachines, ", ")));
  }
  return {};
}

// Other users of a machine see the arguments of its processes.
Result<void> check_token_words(const AgentWords& typed) {
  if (typed.token && *typed.token != "-")
    return fail(ErrorCode::invalid, "A token is never an argument: everybody here could read it.",
                "Write 'echo TOKEN | paceline agent --join ADDRESS:PORT --token -', or name a file "
                "with --token-file.");
  if (typed.token && typed.token_file)
    return fail(ErrorCode::invalid, "--token and --token-file can't be given together.");
  if ((typed.token || typed.token_file) && !typed.join)
    return fail(ErrorCode::invalid, "The token is for a server that is not named.",
                "Name it with --join ADDRESS:PORT.");
  return {};
}

// What a guest has is removed at its end.
Result<void> check_guest(const AgentWords& typed) {
  if (!typed.guest) return {};
  if (typed.detach)
    return fail(ErrorCode::invalid, "--guest and --detach can't be given together.",
                "A guest ends with the job that it was started in.");
  if (typed.directory) return {};
  return fail(ErrorCode::invalid,
              "--guest: The directory is removed at the end, so it must be named.",
              "Name a new one with --dir DIR.");
}

Result<std::optional<Token>> read_token(const AgentWords& typed, Console& console) {
  if (!typed.token && !typed.token_file) return std::nullopt;
  auto text = read_secret_file(console, typed.token_file.value_or("-"));
  auto token = text ? Token::parse(*text, TokenKind::join) : Result<Token>(fail(text.error()));
  if (token) return std::optional<Token>(std::move(*token));
  token.error().hint = "Use the line that 'paceline node invite' printed.";
  return fail(std::move(token.error()));
}

Result<void> read_lease(const AgentWords& typed, AgentOptions& options) {
  if (!typed.lease) return {};
  const auto lease = parse_duration(*typed.lease);
  if (!lease) return refused_option("--lease", lease.error());
  if (*lease < kLeaseMin || *lease > kLeaseMax)
    return fail(ErrorCode::invalid, "--lease is a time from 10s to a year.",
                "Leave it out for 15 minutes.");
  options.lease = *lease;
  return {};
}

Result<AgentOptions> read(const AgentWords& typed, Context& context) {
  if (auto ok = refuse_server(context.server, "--join"); !ok) return fail(std::move(ok.error()));
  if (auto ok = check_token_words(typed); !ok) return fail(std::move(ok.error()));
  if (auto ok = check_guest(typed); !ok) return fail(std::move(ok.error()));
  if (auto ok = check_limits(typed); !ok) return fail(std::move(ok.error()));
  auto machine = read_machine(typed.machine);
  if (!machine) return fail(std::move(machine.error()));
  AgentOptions options;
  static_cast<MachineOptions&>(options) = std::move(*machine);
  auto directory = typed.directory ? Result<std::string>(*typed.directory)
                                   : agent_directory(context.environment);
  if (directory) directory = absolute_directory("--dir", *directory);
  if (!directory) return fail(std::move(directory.error()));
  options.directory = std::move(*directory);
  if (auto ok = read_lease(typed, options); !ok) return fail(std::move(ok.error()));
  options.serve_root = typed.serve_root;
  options.detach = typed.detach;
  options.guest = typed.guest;
  if (!typed.join) return options;
  auto at = parse_server_address(*typed.join);
  if (!at) return refused_option("--join", std::move(at.error()));
  options.join = std::move(*at);
  auto token = read_token(typed, context.console);
  if (!token) return fail(std::move(token.error()));
  options.token = std::move(*token);
  return options;
}

}  // namespace

Command agent_command() {
  return {"agent",
          "",
          "Server",
          "Lend this machine's slots to the server of another one",
          "echo TOKEN | paceline agent --join gpu-box:7443 --token -\npaceline agent --detach",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<AgentWords>();
            options.value("--join", "ADDRESS:PORT", typed->join,
                          "the server's; from the second start on it is known");
            options.value("--token", "-", typed->token,
                          "read the token of an invitation from standard input");
            options.value("--token-file", "FILE", typed->token_file,
                          "where the token is; '-' is standard input");
            options.value("--dir", "DIR", typed->directory,
                          "where its identity, claims and logs live (root's: "
                          "/var/lib/paceline-agent; others': beside their data folder)");
            options.value("--lease", "TIME", typed->lease,
                          "so long trainings run on while no server is heard (15m), unless their "
                          "job continues");
            options.flag("--serve-root", typed->serve_root,
                         "start root's jobs, too, as root (else root's wait for other nodes)");
            options.flag("--detach", typed->detach,
                         "go on in the background; its messages: DIR/agent.log");
            options.flag(
                "--guest", typed->guest,
                "end all that it starts with it, and remove DIR: in a job of a batch system");
            declare(options, typed->machine);
            return [typed](Context& context) -> Result<int> {
              const auto read_options = read(*typed, context);
              if (!read_options) return fail(read_options.error());
              return context.hooks.agent(*read_options);
            };
          }};
}

}  // namespace paceline
