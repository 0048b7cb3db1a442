#include "cli/commands/policy_words.hpp"

namespace paceline {

Command policy_promote_command() {
  return {"policy promote",
          "",
          "Cluster",
          "Make the policy that is tried the active one",
          "paceline policy promote",
          [](Options& options) {
            return switch_action(options, []() -> Result<PolicySwitch> {
              return PolicySwitch{"POST", "/v1/shadow/promote", "{}", "paceline policy promote"};
            });
          }};
}

}  // namespace paceline
