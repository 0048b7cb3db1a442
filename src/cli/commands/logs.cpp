#include "cli/client/log_follower.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/units.hpp"
#include "model/job_spec.hpp"

namespace paceline {
namespace {

struct Logs {
  std::vector<std::string> id;
  std::optional<std::string> rank, tail;
  bool follow = false;
};

Result<LogQuery> query_of(const Logs& typed, Api& api, std::uint32_t id) {
  LogQuery query;
  query.job = id;
  if (typed.rank) {
    const auto rank = parse_whole(*typed.rank, {0, kWorkersMax});
    if (!rank) return fail(ErrorCode::invalid, "--rank: " + rank.error().message);
    query.rank = *rank;
  }
  if (typed.tail) {
    const auto bytes = parse_bytes(*typed.tail);
    if (!bytes)
      return fail(ErrorCode::invalid, "--tail: " + bytes.error().message, bytes.error().hint);
    query.tail_bytes = *bytes;
  }
  const auto job = api.get(job_target(id));
  if (!job) return fail(job.error());
  query.name_ranks = !typed.rank && whole_of(*job, "max") > 1;
  return query;
}

Result<int> follow(Context& context, Api& api, const LogQuery& query) {
  constexpr Duration kLook = std::chrono::hours{1};
  LogFollower follower(api.server(), context.console, query);
  while (!context.console.broken()) {
    const auto step = follower.step(kLook);
    if (!step) return fail(step.error());
    if (*step == LogFollower::Step::ended) break;
  }
  return 0;
}

Result<int> print(Context& context, Api& api, const LogQuery& query) {
  const auto printed = print_log(api, context.console, query);
  if (!printed) return fail(printed.error());
  return 0;
}

}  // namespace

Command logs_command() {
  return {
      "logs",
      "",
      "Jobs",
      "Print what a job wrote",
      "paceline logs -f 7\npaceline logs --rank 0 7",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<Logs>();
        options.flag("-f,--follow", typed->follow, "go on as the job writes");
        options.value("--rank", "N", typed->rank, "only this worker");
        options.value("--tail", "SIZE", typed->tail, "only the last bytes of each worker: 4K");
        options.words("ID", typed->id, Count::one, "id of a job");
        return [typed](Context& context) {
          return for_each_job(context, typed->id, [&](Api& api, std::uint32_t id) -> Result<int> {
            const auto query = query_of(*typed, api, id);
            if (!query) return fail(query.error());
            return typed->follow ? follow(context, api, *query) : print(context, api, *query);
          });
        };
      }};
}

}  // namespace paceline
