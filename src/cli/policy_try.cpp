#include <fmt/format.h>

#include "cli/policy_words.hpp"

namespace paceline {

Command policy_try_command() {
  return {
      "policy try",
      "",
      "Cluster",
      "Let a policy decide every round without effect",
      "paceline policy try srtf\npaceline policy diff",
      [](Options& options) -> Action {
        const auto typed = declare_policy(options);
        return [typed](Context& context) -> Result<int> {
          const auto body = policy_body(*typed);
          if (!body) return fail(body.error());
          const auto api = context.api();
          if (!api) return fail(api.error());
          const auto answer = (*api)->put("/v1/shadow", *body);
          if (!answer) return fail(answer.error());
          context.console.print(fmt::format(
              "{} decides in the shadow of {} from now on, until the server restarts. 'paceline "
              "policy diff' shows what it would do.\n",
              text_of(*answer, "name"), text_of(*answer, "live")));
          return 0;
        };
      }};
}

}  // namespace paceline
