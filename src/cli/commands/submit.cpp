#include <fmt/format.h>

#include "cli/commands/job_options.hpp"

namespace paceline {

Command submit_command() {
  return {"submit",
          "",
          "Jobs",
          "Submit a job and return at once",
          "paceline submit --slots 2..8 --target 'accuracy>=0.95' -- python3 train.py\n"
          "paceline submit -f job.yaml --priority 80\n"
          "paceline submit train.sh    # reads its #SBATCH lines\n"
          "id=$(paceline submit --parsable -- python3 train.py)",
          [](Options& options) -> Action {
            struct Submit {
              JobOptions job;
              bool parsable = false;
            };
            const auto typed = std::make_shared<Submit>();
            declare_job_options(options, typed->job);
            options.flag("--parsable", typed->parsable, "print the id alone");
            return [typed](Context& context) {
              return with_submission(
                  context, typed->job, [&](const MadeSubmission& made) -> Result<int> {
                    const auto id = submit(context, made);
                    if (!id) return fail(id.error());
                    context.console.print(typed->parsable ? fmt::format("{}\n", *id)
                                                          : fmt::format("Submitted job {}\n", *id));
                    return 0;
                  });
            };
          }};
}

}  // namespace paceline
