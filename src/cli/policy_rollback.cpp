#include "cli/policy_words.hpp"

namespace paceline {

Command policy_rollback_command() {
  return plain_command(
      {"policy rollback",
       "",
       "Cluster",
       "Go back to the policy and parameters before",
       "paceline policy rollback",
       {}},
      [](Api& api) { return api.post("/v1/policy/rollback"); }, switch_sentence);
}

}  // namespace paceline
