// A command of the command line: what it accepts and what it does. One file per command; the table
// of all of them is commands.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/api.hpp"
#include "cli/cli.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"

namespace paceline {

// What a running command has at hand.
class Context {
 public:
  Context(Console& console, Environment environment, const Hooks& hooks);

  Console& console;
  Environment environment;
  const Hooks& hooks;
  std::optional<std::string> server;  // --server

  // The server, found at the first call. Errors: unavailable, forbidden.
  Result<Api*> api();
  // The time now.
  [[nodiscard]] static WallTime now();

 private:
  std::unique_ptr<Api> api_;
};

// Returns the exit code; an error is complained about, and its code decides the exit code.
using Action = std::function<Result<int>(Context&)>;

struct Command {
  std::string_view name;   // "submit", "policy set"
  std::string_view alias;  // "" if it has none
  std::string_view group;  // heading in the list of commands; "" hides it
  std::string_view summary;
  std::string_view example;  // lines, ready to paste
  // Declares the options and returns what to do once they are read.
  std::function<Action(Options&)> declare;
};

std::span<const Command> commands();

// Does `act` for every id, complains about each that fails, and returns the first failure's exit
// code, else the first code that is not 0.
Result<int> for_each_job(Context& context, const std::vector<std::string>& ids,
                         const std::function<Result<int>(Api&, std::uint32_t)>& act);

// A command that shows what the API answers at `target`: as `draw` says, or as it is for JSON.
using Draw = std::function<std::string(const Document&, const Output&, const Console&)>;
Command view_command(Command command, std::string_view target, const Draw& draw);

// A command without words: asks the API for something and tells of the answer.
using Ask = std::function<Result<Document>(Api&)>;
using Tell = std::function<std::string(const Document&)>;
Command plain_command(Command command, const Ask& ask, const Tell& tell);

// A command that posts a request to each of the jobs and tells what became of them.
Command request_command(Command command, std::string_view request);

Command run_command();
Command submit_command();
Command queue_command();
Command show_command();
Command logs_command();
Command attach_command();
Command cancel_command();
Command pause_command();
Command resume_command();
Command resize_command();
Command wait_command();
Command why_command();
Command nodes_command();
Command users_command();
Command limits_command();
Command rules_command();
Command events_command();
Command policy_list_command();
Command policy_show_command();
Command policy_set_command();
Command policy_load_command();
Command policy_forget_command();
Command policy_try_command();
Command policy_diff_command();
Command policy_promote_command();
Command policy_rollback_command();
Command policy_drop_command();
Command simulate_command();
Command up_command();
Command down_command();
Command version_command();

}  // namespace paceline
