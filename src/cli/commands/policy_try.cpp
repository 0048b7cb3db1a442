#include <fmt/format.h>

#include "cli/commands/policy_words.hpp"

namespace paceline {

Command policy_try_command() {
  return choice_command({"policy try",
                         "",
                         "Cluster",
                         "Let a policy decide every round without effect",
                         "paceline policy try srtf\npaceline policy diff",
                         {}},
                        "/v1/shadow", [](const Document& answer) {
                          return fmt::format(
                              "{} decides in the shadow of {} from now on. 'paceline policy "
                              "diff' shows what it would do.\n",
                              text_of(answer, "name"), text_of(answer, "live"));
                        });
}

}  // namespace paceline
