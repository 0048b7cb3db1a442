#include "cli/commands/wait.hpp"

#include "cli/client/failing_rank.hpp"
#include "cli/client/patience.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {
namespace {

struct Wait {
  std::vector<std::string> ids;
  bool quiet = false;
};

// Nobody followed its log: what a failed job wrote last says the most.
void tell_failure(Context& context, Api& api, std::uint32_t id, const Document& job) {
  if (text_of(job, "state") != "FAILED") return;
  const auto rank =
      whole_of(job, "max") == 1 ? std::optional<std::int64_t>(0) : failing_rank(api, id);
  if (!rank) return;
  const auto lines = read_last_lines(api, id, *rank);
  if (!lines.empty()) context.console.note(failure_text(*rank, lines));
}

}  // namespace

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
            const auto typed = std::make_shared<Wait>();
            options.flag("-q,--quiet", typed->quiet, "print nothing: the exit code tells");
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            return [typed](Context& context) {
              const auto wait = [&](Api& api, std::uint32_t id) -> Result<int> {
                const auto job = wait_until_over(api, context.console, id);
                if (!job) return fail(job.error());
                if (typed->quiet) return exit_code_of(*job);
                tell_failure(context, api, id, *job);
                context.console.print(job_sentence(*job) + "\n");
                return exit_code_of(*job);
              };
              return for_each_job(context, typed->ids, wait);
            };
          }};
}

}  // namespace paceline
