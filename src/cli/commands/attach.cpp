#include "cli/commands/kinds.hpp"
#include "cli/commands/terminal_session.hpp"

namespace paceline {

Command attach_command() {
  return {"attach",
          "",
          "Jobs",
          "Come back to the terminal of a 'run --pty' job",
          "paceline attach 7",
          [](Options& options) -> Action {
            const auto id = std::make_shared<std::vector<std::string>>();
            options.words("ID", *id, Count::one, "id of a job");
            return [id](Context& context) {
              return for_each_job(context, *id, [&](Api& api, std::uint32_t job) {
                return attach(context, api, job);
              });
            };
          }};
}

}  // namespace paceline
