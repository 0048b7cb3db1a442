#include <fmt/format.h>

#include "cli/commands/command.hpp"
#include "http/url.hpp"

namespace paceline {

Command policy_forget_command() {
  return {"policy forget",
          "",
          "Cluster",
          "Forget a policy that was loaded",
          "paceline policy forget mine",
          [](Options& options) -> Action {
            const auto name = std::make_shared<std::vector<std::string>>();
            options.words("NAME", *name, Count::one, "a policy that was loaded");
            return [name](Context& context) -> Result<int> {
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto done = (*api)->remove("/v1/policy/" + url_encoded(name->front()));
              if (!done) return fail(done.error());
              context.console.print(fmt::format("The policy {} is forgotten.\n", name->front()));
              return 0;
            };
          }};
}

}  // namespace paceline
