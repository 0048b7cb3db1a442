#include "cli/policy_words.hpp"

namespace paceline {

Command policy_promote_command() {
  return {"policy promote",
          "",
          "Cluster",
          "Make the policy that is tried the active one",
          "paceline policy promote",
          [](Options&) -> Action {
            return [](Context& context) -> Result<int> {
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto answer = (*api)->post("/v1/shadow/promote");
              if (!answer) return fail(answer.error());
              context.console.print(switch_sentence(*answer));
              return 0;
            };
          }};
}

}  // namespace paceline
