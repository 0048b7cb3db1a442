// Commands that are one request about each of the jobs that are named.
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"
#include "model/job_spec.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

struct Resize {
  std::vector<std::string> ids;
  std::optional<std::string> workers;
};

Result<std::string> body_of(const Resize& typed) {
  if (!typed.workers) {
    return fail(ErrorCode::invalid, "'resize' needs --workers.",
                "Write --workers 3 to pin a size, or --workers 2..4 to give a range.");
  }
  const auto range = parse_range(*typed.workers);
  if (!range)
    return fail(ErrorCode::invalid, "--workers: " + range.error().message, range.error().hint);
  JsonWriter json;
  json.begin_object().field("workers", *typed.workers).end_object();
  return json.take();
}

}  // namespace

Command cancel_command() {
  return request_command(
      {"cancel", "", "Jobs", "End jobs: notice, grace, kill", "paceline cancel 7 8", {}}, "cancel");
}

Command pause_command() {
  return request_command(
      {"pause", "", "Jobs", "Freeze running jobs where they are", "paceline pause 7", {}}, "pause");
}

Command resume_command() {
  return request_command(
      {"resume", "", "Jobs", "Let paused and held jobs go on", "paceline resume 7", {}}, "resume");
}

Command resize_command() {
  return {"resize",
          "",
          "Jobs",
          "Give jobs another number of workers",
          "paceline resize 7 --workers 3\npaceline resize 7 --workers 2..4",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Resize>();
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            options.value("--workers", "N|MIN..MAX", typed->workers,
                          "a size to keep, or a range to choose from");
            return [typed](Context& context) -> Result<int> {
              const auto body = body_of(*typed);
              if (!body) return fail(body.error());
              return for_each_job(context, typed->ids,
                                  [&](Api& api, std::uint32_t id) -> Result<int> {
                                    const auto job = api.post(job_target(id, "resize"), *body);
                                    if (!job) return fail(job.error());
                                    context.console.print(job_sentence(*job) + "\n");
                                    return 0;
                                  });
            };
          }};
}

}  // namespace paceline
