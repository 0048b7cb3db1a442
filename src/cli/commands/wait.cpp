#include "cli/commands/wait.hpp"

#include "cli/client/patience.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {

Result<Document> wait_until_over(Api& api, Console& console, std::uint32_t id) {
  Patience patience(console);
  for (;;) {
    auto job = api.get(job_target(id, "wait") + "?timeout_seconds=30");
    if (job) patience.over();
    if (job && is_over(*job)) return job;
    if (!job && !patience.again(job.error())) return job;
  }
}

Command wait_command() {
  return {"wait",
          "",
          "Jobs",
          "Wait until jobs are over; exits as they did",
          "paceline wait 7 && paceline submit -- python3 evaluate.py",
          [](Options& options) -> Action {
            const auto ids = std::make_shared<std::vector<std::string>>();
            options.words("ID", *ids, Count::some, "ids of jobs");
            return [ids](Context& context) {
              return for_each_job(context, *ids, [&](Api& api, std::uint32_t id) -> Result<int> {
                const auto job = wait_until_over(api, context.console, id);
                if (!job) return fail(job.error());
                context.console.print(job_sentence(*job) + "\n");
                return exit_code_of(*job);
              });
            };
          }};
}

}  // namespace paceline
