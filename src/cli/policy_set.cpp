#include "cli/policy_words.hpp"

namespace paceline {

Command policy_set_command() {
  return {"policy set",
          "",
          "Cluster",
          "Switch the policy; nothing restarts",
          "paceline policy set elastic-fifo",
          [](Options& options) -> Action {
            const auto typed = declare_policy(options);
            return [typed](Context& context) -> Result<int> {
              const auto body = policy_body(*typed);
              if (!body) return fail(body.error());
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto answer = (*api)->put("/v1/policy", *body);
              if (!answer) return fail(answer.error());
              context.console.print(switch_sentence(*answer));
              return 0;
            };
          }};
}

}  // namespace paceline
