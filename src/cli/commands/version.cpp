#include <fmt/format.h>

#include "cli/commands/command.hpp"

namespace paceline {

Command version_command() {
  return {"version",
          "",
          "Server",
          "Print the version",
          "paceline version",
          [](Options& /*options*/) -> Action {
            return [](Context& context) -> Result<int> {
              context.console.print(fmt::format("paceline {}\n", context.hooks.version));
              return 0;
            };
          }};
}

}  // namespace paceline
