#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/document.hpp"

namespace paceline {

Command policy_drop_command() {
  return {"policy drop",
          "",
          "Cluster",
          "End the trial of a policy",
          "paceline policy drop",
          [](Options&) -> Action {
            return [](Context& context) -> Result<int> {
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto answer = (*api)->remove("/v1/shadow");
              if (!answer) return fail(answer.error());
              context.console.print(fmt::format(
                  "{} is tried no more. {} of {} rounds differed.\n", text_of(*answer, "name"),
                  whole_of(*answer, "differed"), whole_of(*answer, "rounds")));
              return 0;
            };
          }};
}

}  // namespace paceline
