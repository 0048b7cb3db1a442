#include "cli/policy_words.hpp"

namespace paceline {

Command policy_promote_command() {
  return plain_command(
      {"policy promote",
       "",
       "Cluster",
       "Make the policy that is tried the active one",
       "paceline policy promote",
       {}},
      [](Api& api) { return api.post("/v1/shadow/promote"); }, switch_sentence);
}

}  // namespace paceline
