#include <fmt/format.h>

#include "base/nearest.hpp"
#include "cli/commands.hpp"
#include "cli/commands/shapes.hpp"

namespace paceline {
namespace {

Result<std::string> completion_of(std::string_view shell) {
  const auto shapes = shapes_of(commands());
  if (shell == "bash") return bash_completion(shapes);
  if (shell == "zsh") return zsh_completion(shapes);
  if (shell == "fish") return fish_completion(shapes);
  return fail(ErrorCode::invalid, fmt::format("There is no completion for '{}'.", shell),
              "Shells are bash, zsh and fish.");
}

}  // namespace

Command completion_command() {
  return {"completion",
          "",
          "Server",
          "Print what a shell reads to complete commands",
          "source <(paceline completion bash)\npaceline completion zsh > ~/.zfunc/_paceline\n"
          "paceline completion fish > ~/.config/fish/completions/paceline.fish",
          [](Options& options) -> Action {
            const auto shell = std::make_shared<std::vector<std::string>>();
            options.words("SHELL", *shell, Count::one, "bash, zsh or fish");
            return [shell](Context& context) -> Result<int> {
              const auto text = completion_of(shell->front());
              if (!text) return fail(text.error());
              context.console.print(*text);
              return 0;
            };
          }};
}

// For packages: people read it with 'man paceline'.
Command man_page_command() {
  return {"man-page",
          "",
          "",
          "Print the page paceline(1) of the reference manual",
          "paceline man-page | man -l -",
          [](Options& /*options*/) -> Action {
            return [](Context& context) -> Result<int> {
              context.console.print(man_page(shapes_of(commands())));
              return 0;
            };
          }};
}

}  // namespace paceline
