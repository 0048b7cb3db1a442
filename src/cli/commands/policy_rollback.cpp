#include "cli/commands/policy_words.hpp"

namespace paceline {

Command policy_rollback_command() {
  return {"policy rollback",
          "",
          "Cluster",
          "Go back to the policy and parameters before",
          "paceline policy rollback",
          [](Options& options) {
            return switch_action(options, []() -> Result<PolicySwitch> {
              return PolicySwitch{"POST", "/v1/policy/rollback", "{}", "paceline policy rollback"};
            });
          }};
}

}  // namespace paceline
