#include "cli/client/failing_rank.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/job_state.hpp"

namespace paceline {
namespace {

// More than what a gang's end and what happened beside it write.
constexpr std::int64_t kEntries = 1000;

bool is_failure(const Document& event, std::uint32_t job) {
  if (text_of(event, "kind") != "worker_ended" || whole_of(event, "job") != job) return false;
  const auto& ending = member(event, "ending");
  const auto cause = parse_cause(text_of(ending, "cause"));
  return cause && !is_our_kill(*cause) &&
         !(*cause == Cause::exited && whole_of(ending, "exit_code") == 0);
}

}  // namespace

std::optional<std::int64_t> failing_rank(Api& api, std::uint32_t job) {
  const auto server = api.get("/v1/server");
  if (!server) return {};
  const auto from = std::max<std::int64_t>(whole_of(*server, "seq") - kEntries + 1, 1);
  const auto page = api.get(fmt::format("/v1/events?from={}&limit={}", from, kEntries));
  if (!page) return {};
  std::optional<std::int64_t> rank;
  std::int64_t generation = 0;
  for (const auto& event : list_of(*page, "events")) {
    if (!is_failure(event, job) || whole_of(event, "generation") <= generation) continue;
    generation = whole_of(event, "generation");
    rank = whole_of(event, "rank");
  }
  return rank;
}

}  // namespace paceline
