#include "cli/client/failing_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/client/log_lines.hpp"
#include "cli/client/log_tail.hpp"
#include "cli/words/text.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

constexpr std::int64_t kEventPage = 1000;    // entries
constexpr std::int64_t kEventPagesMax = 20;  // that are looked through, from the journal's end on
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

// The newest generation's first failure, as far as it was looked for.
struct Failure {
  std::int64_t generation = 0, rank = 0;
};

// The page may begin in the middle of a gang's end, so it counts with what the one before it tells.
std::optional<Failure> failure_in(const Document& page, std::uint32_t job,
                                  const std::optional<Failure>& later) {
  std::optional<Failure> found;
  for (const auto& event : list_of(page, "events")) {
    const auto generation = whole_of(event, "generation");
    if (!is_failure(event, job) || (found && generation <= found->generation)) continue;
    found = Failure{generation, whole_of(event, "rank")};
  }
  return found && (!later || found->generation >= later->generation) ? found : later;
}

// Nothing on it was later than that, in seconds since 1970.
bool is_older(const Document& page, double at) {
  const auto& events = list_of(page, "events");
  return !events.empty() && number_of(events.front(), "at").value_or(at) < at;
}

}  // namespace

std::optional<std::int64_t> failing_rank(Api& api, const Document& job) {
  const auto id = static_cast<std::uint32_t>(whole_of(job, "id"));
  const auto server = api.get("/v1/server");
  if (!server) return {};
  std::optional<Failure> found;
  bool was_there = false;
  auto end = whole_of(*server, "seq") + 1;
  for (std::int64_t pages = 0; pages < kEventPagesMax && end > 1; ++pages) {
    const auto from = std::max<std::int64_t>(end - kEventPage, 1);
    const auto page = api.get(fmt::format("/v1/events?from={}&limit={}", from, end - from));
    if (!page) break;
    found = failure_in(*page, id, found);
    const bool is_last = std::exchange(was_there, found.has_value()) ||
                         is_older(*page, number_of(job, "started_at").value_or(0));
    if (is_last) break;
    end = from;
  }
  return found ? std::optional(found->rank) : std::nullopt;
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
  const auto rank =
      whole_of(job, "max") == 1 ? std::optional<std::int64_t>(0) : failing_rank(api, job);
  if (!rank) return {};
  const auto lines = read_last_lines(api, static_cast<std::uint32_t>(whole_of(job, "id")), *rank);
  return lines.empty() ? "" : failure_text(*rank, lines);
}

}  // namespace paceline
