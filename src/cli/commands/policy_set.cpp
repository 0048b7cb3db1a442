#include "cli/commands/policy_words.hpp"

namespace paceline {
namespace {

Result<PolicySwitch> read(const PolicyWords& typed) {
  const auto body = choice_body(typed);
  if (!body) return fail(body.error());
  auto again = "paceline policy set " + typed.name.front();
  for (const auto& word : typed.parameters) again += " " + word;
  return PolicySwitch{"PUT", "/v1/policy", *body, again};
}

}  // namespace

Command policy_set_command() {
  return {"policy set",
          "",
          "Cluster",
          "Switch the policy; says first what that would stop and lose",
          "paceline policy set elastic-fifo\npaceline policy set fair --yes",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<PolicyWords>();
            declare_choice(options, *typed);
            return switch_action(options, [typed] { return read(*typed); });
          }};
}

}  // namespace paceline
