#include "cli/client/failing_rank.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/client/log_lines.hpp"
#include "cli/client/log_tail.hpp"
#include "cli/words/text.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

// More than what a gang's end and what happened beside it write.
constexpr std::int64_t kEntries = 1000;
// Of a log: with reports among them there are some left that are none.
constexpr std::size_t kTailLines = 300;

// Behind the line that says where the last process begins (agent/linux/log_file.hpp).
std::string_view last_start(std::string_view text) {
  const auto mark = ("\n" + std::string(text)).rfind("\n--- attempt ");
  if (mark == std::string::npos) return text;
  return text.substr(std::min(text.find('\n', mark), text.size() - 1) + 1);
}

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

std::vector<std::string> read_last_lines(Api& api, std::uint32_t job, std::int64_t rank) {
  const auto tails = read_log_tail(api, {job, rank, kTailLines});
  if (!tails || !tails->contains(rank)) return {};
  return last_lines(last_start(tails->at(rank).text()));
}

std::string failure_text(std::int64_t rank, const std::vector<std::string>& lines) {
  std::string text = fmt::format("Rank {} failed. It wrote last:", rank);
  for (const auto& line : lines) text += fmt::format("\n  [{}] {}", rank, printable(line));
  return text;
}

std::string last_words_of(Api& api, const Document& job) {
  if (text_of(job, "state") != "FAILED") return {};
  const auto id = static_cast<std::uint32_t>(whole_of(job, "id"));
  const auto rank =
      whole_of(job, "max") == 1 ? std::optional<std::int64_t>(0) : failing_rank(api, id);
  if (!rank) return {};
  const auto lines = read_last_lines(api, id, *rank);
  return lines.empty() ? "" : failure_text(*rank, lines);
}

}  // namespace paceline
