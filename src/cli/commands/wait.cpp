#include "cli/commands/wait.hpp"

#include "cli/client/failing_rank.hpp"
#include "cli/client/persistence.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {
namespace {

struct Wait {
  std::vector<std::string> ids;
  bool quiet = false;
};

// Nobody followed its log.
void tell_failure(Context& context, Api& api, const Document& job) {
  if (const auto text = last_words_of(api, job); !text.empty()) context.console.note(text);
}

}  // namespace

Result<Document> wait_until_over(Api& api, Console& console, std::uint32_t id) {
  Persistence patience(console);
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
            const auto typed = std::make_shared<Wait>();
            options.flag("-q,--quiet", typed->quiet, "print nothing: the exit code tells");
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            return [typed](Context& context) {
              const auto wait = [&](Api& api, std::uint32_t id) -> Result<int> {
                const auto job = wait_until_over(api, context.console, id);
                if (!job) return fail(job.error());
                if (typed->quiet) return exit_code_of(*job);
                tell_failure(context, api, *job);
                context.console.print(job_sentence(*job) + "\n");
                return exit_code_of(*job);
              };
              return for_each_job(context, typed->ids, wait);
            };
          }};
}

}  // namespace paceline
