#include "cli/policy_words.hpp"

namespace paceline {

Command policy_set_command() {
  return choice_command({"policy set",
                         "",
                         "Cluster",
                         "Switch the policy; nothing restarts",
                         "paceline policy set elastic-fifo",
                         {}},
                        "/v1/policy", switch_sentence);
}

}  // namespace paceline
