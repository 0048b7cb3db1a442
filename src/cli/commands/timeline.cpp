#include <fmt/format.h>

#include <utility>

#include "cli/client/timeline_reader.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/trace_text.hpp"
#include "cli/words/units.hpp"
#include "model/job_spec.hpp"

namespace paceline {
namespace {

constexpr std::size_t kWritten = 256 << 10;  // bytes at once

struct TimelineWords {
  std::vector<std::string> id;
  std::optional<std::string> rank, last;
};

// When the newest that is known of the job was told, in microseconds since 1970.
Result<std::int64_t> newest_of(Api& api, const TimelineQuery& query) {
  TraceText trace({.job = query.job});
  const auto read = read_timeline(api, query, [&](std::int32_t number, TimelinePiece piece) {
    (void)trace.add(number, std::move(piece));
    return true;
  });
  if (!read) return fail(read.error());
  return trace.newest_us();
}

Result<TraceOptions> options_of(Api& api, const TimelineQuery& query, const TimelineWords& typed) {
  TraceOptions options{.job = query.job, .all_ranks = !query.rank};
  if (!typed.last) return options;
  const auto span = parse_duration(*typed.last);
  if (!span) return fail(span.error().code, "--last: " + span.error().message, span.error().hint);
  const auto newest = newest_of(api, query);
  if (!newest) return fail(newest.error());
  options.since_us = *newest - span->count();
  return options;
}

Result<TimelineQuery> timeline_query(const TimelineWords& typed, std::uint32_t id) {
  TimelineQuery query{.job = id};
  if (!typed.rank) return query;
  const auto rank = parse_whole(*typed.rank, {0, kWorkersMax});
  if (!rank) return fail(rank.error().code, "--rank: " + rank.error().message);
  query.rank = *rank;
  return query;
}

Error nothing_there(const Document& job, const TimelineQuery& query) {
  const auto of = query.rank ? fmt::format("Rank {} of job {}", *query.rank, query.job)
                             : fmt::format("Job {}", query.job);
  if (!member(job, "started_at").is_number())
    return {ErrorCode::not_found, of + " has no timeline yet: it has not started.",
            fmt::format("'paceline why {}' says what it waits for.", query.job), Retry::useless};
  return {ErrorCode::not_found,
          of + " has no timeline: none of its workers has told where its time goes.",
          "A script tells it from a second after its ranks met in paceline.init() on "
          "(docs/runtime.md); any other can post spans to its worker socket (docs/api.md).",
          Retry::useless};
}

Result<int> print_trace(Context& context, Api& api, std::uint32_t id, const TimelineWords& typed) {
  const auto query = timeline_query(typed, id);
  if (!query) return fail(query.error());
  if (context.console.output_terminal())
    return fail(
        ErrorCode::invalid, "A timeline is nothing to read on a terminal.",
        fmt::format("Write it to a file, and open that with Perfetto: paceline timeline {} > "
                    "job-{}.json",
                    id, id));
  const auto job = api.get(job_target(id));
  if (!job) return fail(job.error());
  const auto options = options_of(api, *query, typed);
  if (!options) return fail(options.error());
  TraceText trace(*options);
  std::string text;
  const auto read = read_timeline(api, *query, [&](std::int32_t number, TimelinePiece piece) {
    text += trace.add(number, std::move(piece));
    if (text.size() >= kWritten) context.console.print(std::exchange(text, {}));
    return !context.console.broken();
  });
  if (!read) return fail(read.error());
  if (trace.empty()) return fail(nothing_there(*job, *query));
  context.console.print(text + trace.end());
  if (const auto stalled = trace.stalled(); !stalled.empty()) context.console.note(stalled);
  return 0;
}

}  // namespace

Command timeline_command() {
  return {"timeline",
          "",
          "Jobs",
          "Print where the time of a job's ranks went, as a trace for Perfetto",
          "paceline timeline 7 > job-7.json\npaceline timeline --last 5m 7 > job-7.json",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<TimelineWords>();
            options.value("--rank", "N", typed->rank, "only this worker, as in logs");
            options.value("--last", "SPAN", typed->last, "only the last so much of it: 5m");
            options.words("ID", typed->id, Count::one, "id of a job");
            return [typed](Context& context) {
              return for_each_job(context, typed->id, [&](Api& api, std::uint32_t id) {
                return print_trace(context, api, id, *typed);
              });
            };
          }};
}

}  // namespace paceline
