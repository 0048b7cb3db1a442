#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/document.hpp"

namespace paceline {

Command policy_drop_command() {
  return plain_command(
      {"policy drop", "", "Cluster", "End the trial of a policy", "paceline policy drop", {}},
      [](Api& api) { return api.remove("/v1/shadow"); },
      [](const Document& answer) {
        return fmt::format("{} is tried no more. {} of {} rounds differed.\n",
                           text_of(answer, "name"), whole_of(answer, "differed"),
                           whole_of(answer, "rounds"));
      });
}

}  // namespace paceline
