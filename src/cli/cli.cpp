#include "cli/cli.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "cli/commands.hpp"
#include "cli/commands/help.hpp"
#include "cli/run_cli.hpp"
#include "cli/words/text.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

using Words = std::vector<std::string>;

// What stands before the command: --server PATH, --help, --version. Removes what it reads.
struct Preamble {
  std::optional<std::string> server;
  bool help = false;
  bool version = false;
};

Result<Preamble> take_preamble(Words& words) {
  constexpr std::string_view kServer = "--server=";
  Preamble preamble;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-'); ++at) {
    const auto& word = words[at];
    if (word == "-h" || word == "--help") {
      preamble.help = true;
    } else if (word == "--version") {
      preamble.version = true;
    } else if (word == "--server" && at + 1 < words.size()) {
      preamble.server = words[++at];
    } else if (word.starts_with(kServer)) {
      preamble.server = word.substr(kServer.size());
    } else {
      return fail(ErrorCode::invalid, fmt::format("'{}' does not stand before a command.", word),
                  "See 'paceline --help'.");
    }
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
  return preamble;
}

Error no_such_command(const Words& words) {
  std::vector<std::string_view> known;
  for (const auto& command : commands()) {
    known.push_back(command.name);
    if (!command.alias.empty()) known.push_back(command.alias);
  }
  const bool two = words.front() == "policy" && words.size() > 1;
  const auto typed = two ? words[0] + " " + words[1] : words.front();
  if (typed == "policy") {
    return {ErrorCode::invalid,
            "'policy' needs a word: list, show, set, load, forget, try, diff, promote, rollback or "
            "drop.",
            "See 'paceline policy list'.", Retry::useless};
  }
  const auto near = nearest(typed, known);
  return {ErrorCode::invalid,
          fmt::format("There is no command '{}'{}", typed,
                      near ? fmt::format("; did you mean '{}'?", *near) : "."),
          "See 'paceline --help'.", Retry::useless};
}

// The command that the words begin with; its name is removed from them.
const Command* take_command(Words& words) {
  const auto first = words.front();
  const auto both = words.size() > 1 ? first + " " + words[1] : first;
  for (const auto& command : commands()) {
    const bool one = command.name == first || command.alias == first;
    if (!one && command.name != both) continue;
    words.erase(words.begin(), words.begin() + (one ? 1 : 2));
    return &command;
  }
  return nullptr;
}

Result<int> run_command_of(Context& context, const Command& command, Words words) {
  Options options(command.name);
  const Action action = command.declare(options);
  options.value("--server", "PATH", context.server, "socket or directory of the server");
  if (auto read = options.read(std::move(words)); !read) return fail(std::move(read.error()));
  if (!options.wants_help()) return action(context);
  context.console.print(help_page(command, options));
  return 0;
}

Result<int> dispatch(Context& context, Words words) {
  const auto preamble = take_preamble(words);
  if (!preamble) return fail(preamble.error());
  context.server = preamble->server;
  if (preamble->version) words = {"version"};
  if (words.empty() || preamble->help || words.front() == "help") {
    context.console.print(help_page(commands()));
    return 0;
  }
  const auto* command = take_command(words);
  if (command == nullptr) return fail(no_such_command(words));
  return run_command_of(context, *command, std::move(words));
}

Environment process_environment() {
  Environment environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace

int run_cli(Context& context, std::vector<std::string> words) {
  context.typed = command_line(words);
  try {
    const auto code = dispatch(context, std::move(words));
    if (code) return context.console.finish(*code);
    context.console.status("");
    context.console.complain(code.error());
    return context.console.finish(exit_code(code.error().code));
  } catch (const std::exception& error) {
    context.console.complain({ErrorCode::internal,
                              fmt::format("This is a defect of Paceline: {}.", error.what()),
                              "Please report it with the command you typed.", Retry::useless});
    return exit_code(ErrorCode::internal);
  }
}

int cli_main(int argc, char** argv, const Hooks& hooks) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise" && hooks.supervise) {
    return hooks.supervise(argc, argv);
  }
  std::signal(SIGPIPE, SIG_IGN);
  Console console = Console::of_process(process_environment());
  Context context(console, process_environment(), hooks);
  return run_cli(context, Words(argv + std::min(argc, 1), argv + argc));
}

}  // namespace paceline
