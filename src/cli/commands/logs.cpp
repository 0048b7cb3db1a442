#include <fmt/format.h>

#include "cli/client/log_follower.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/units.hpp"
#include "model/job_spec.hpp"

namespace paceline {
namespace {

struct Logs {
  std::vector<std::string> id;
  std::optional<std::string> rank, tail, since;
  bool follow = false, times = false;
};

// "300" is so many lines, "64K" so many bytes. Errors: invalid.
Result<void> read_tail(const Logs& typed, LogQuery& query) {
  constexpr std::int64_t kLinesMax = 100'000;
  if (!typed.tail) return {};
  const auto& text = *typed.tail;
  if (!text.empty() && text.find_first_not_of("0123456789") == text.npos) {
    const auto lines = parse_whole(text, {0, kLinesMax});
    if (!lines) return fail(ErrorCode::invalid, "--tail: " + lines.error().message);
    query.tail_lines = static_cast<std::size_t>(*lines);
    return {};
  }
  const auto bytes = parse_bytes(text);
  if (!bytes) {
    return fail(ErrorCode::invalid,
                fmt::format("--tail: '{}' is neither a number of lines nor a size.", text),
                "Write 300 for so many lines, or a size with its unit like 64K.");
  }
  query.tail_bytes = *bytes;
  return {};
}

Result<LogQuery> query_of(const Logs& typed, Api& api, std::uint32_t id) {
  LogQuery query;
  query.job = id;
  if (typed.rank) {
    const auto rank = parse_whole(*typed.rank, {0, kWorkersMax});
    if (!rank) return fail(ErrorCode::invalid, "--rank: " + rank.error().message);
    query.rank = *rank;
  }
  if (auto tail = read_tail(typed, query); !tail) return fail(tail.error());
  if (typed.since) {
    const auto since = parse_since(*typed.since, Context::now());
    if (!since)
      return fail(since.error().code, "--since: " + since.error().message, since.error().hint);
    query.since = *since;
  }
  const auto job = api.get(job_target(id));
  if (!job) return fail(job.error());
  query.show.times = typed.times;
  query.show.name_ranks = !typed.rank && whole_of(*job, "max") > 1;
  return query;
}

Result<int> follow(Context& context, Api& api, const LogQuery& query) {
  constexpr Duration kLook = std::chrono::hours{1};
  LogFollower follower(api.server(), context.console, query);
  if (const auto tail = follower.print_tail(api); !tail) return fail(tail.error());
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
      "paceline logs -f 7\npaceline logs --tail 100 --rank 0 7\npaceline logs -t --since 10m 7",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<Logs>();
        options.flag("-f,--follow", typed->follow, "go on as the job writes");
        options.value("--rank", "N", typed->rank, "only this worker");
        options.value("--tail", "N|SIZE", typed->tail,
                      "only the last lines of each worker: 300; or the last bytes: 64K");
        options.value("--since", "SPAN|TIME", typed->since, "only what was written since: 10m");
        options.flag("-t,--timestamps", typed->times, "begin each line with when it was written");
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
