#include "cli/policy_words.hpp"

namespace paceline {

Command policy_rollback_command() {
  return {"policy rollback",
          "",
          "Cluster",
          "Go back to the policy and parameters before",
          "paceline policy rollback",
          [](Options&) -> Action {
            return [](Context& context) -> Result<int> {
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto answer = (*api)->post("/v1/policy/rollback");
              if (!answer) return fail(answer.error());
              context.console.print(switch_sentence(*answer));
              return 0;
            };
          }};
}

}  // namespace paceline
