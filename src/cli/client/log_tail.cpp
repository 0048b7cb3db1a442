#include "cli/client/log_tail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {
namespace {

constexpr std::uint64_t kLineGuess = 200;  // bytes of a usual line
constexpr std::uint64_t kFirstLook = 16 << 10;
constexpr std::uint64_t kFurther = 8;  // times as far back
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 60U;

using Tails = std::map<std::int64_t, LogTail>;

// True where the page had something new.
bool add_page(Tails& tails, const Document& page, std::size_t lines) {
  bool grew = false;
  for (const auto& chunk : list_of(page, "chunks")) {
    auto& tail = tails[whole_of(chunk, "rank")];
    grew = grew || whole_of(chunk, "next") > tail.next;
    tail.add(chunk, lines);
  }
  return grew;
}

// The last `bytes` of each rank, page by page.
Result<Tails> read_bytes(Api& api, const LogTailQuery& query, std::uint64_t bytes) {
  const auto rank = query.rank ? fmt::format("rank={}&", *query.rank) : "";
  // Said with each page: it holds for the ranks that are not on one yet.
  const auto target = fmt::format("{}?{}tail_bytes={}{}{}", job_target(query.job, "logs"), rank,
                                  bytes, since_query(query.since), query.times ? "&times=1" : "");
  Tails tails;
  std::string offsets;
  for (;;) {
    const auto page = api.get(offsets.empty() ? target : target + "&offset=" + offsets);
    if (!page) return fail(page.error());
    if (!add_page(tails, *page, query.lines)) return tails;
    offsets.clear();
    for (const auto& [of, tail] : tails) {
      offsets += fmt::format("{}{}:{}", offsets.empty() ? "" : ",", of, tail.next);
    }
  }
}

// A line that was there at no later time than one before it of the same rank was written after it:
// the clock was set back.
double not_before(const std::optional<double>& at, double& latest) {
  latest = std::max(latest, at.value_or(latest));
  return latest;
}

}  // namespace

std::string since_query(const std::optional<WallTime>& since) {
  return since ? fmt::format("&since={}", to_us(*since) / 1'000'000) : "";
}

std::vector<std::pair<std::int64_t, LogLine>> in_order(const Tails& tails) {
  std::vector<std::pair<double, std::pair<std::int64_t, LogLine>>> timed;
  for (const auto& [rank, tail] : tails) {
    double latest = 0;
    for (const auto& line : tail.lines())
      timed.push_back({not_before(line.at, latest), {rank, line}});
  }
  std::ranges::stable_sort(timed, {}, [](const auto& each) { return each.first; });
  std::vector<std::pair<std::int64_t, LogLine>> lines;
  for (auto& [at, line] : timed) lines.push_back(std::move(line));
  return lines;
}

void LogTail::add(const Document& chunk, std::size_t lines) {
  const auto offset = whole_of(chunk, "offset");
  if (whole_of(chunk, "next") <= next) return;
  if (!first_) first_ = offset;
  next = whole_of(chunk, "next");
  const auto text = text_of(chunk, "text");
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size() - 1) + 1;
    if (lines_.empty() || lines_.back().text.ends_with('\n')) {
      lines_.push_back({{}, number_of(chunk, "at")});
      ++begun_;
    }
    lines_.back().text.append(text, from, end - from);
    if (lines_.size() > lines) lines_.pop_front();
    from = end;
  }
}

std::string LogTail::text() const {
  std::string text;
  for (const auto& line : lines_) text += line.text;
  return text;
}

bool LogTail::enough(std::size_t lines) const { return first_.value_or(0) == 0 || begun_ > lines; }

Result<Tails> read_log_tail(Api& api, const LogTailQuery& query) {
  for (std::uint64_t bytes = std::max(kFirstLook, query.lines * kLineGuess);; bytes *= kFurther) {
    auto tails = read_bytes(api, query, bytes);
    if (!tails || bytes >= kFarthest) return tails;
    const bool enough = std::ranges::all_of(
        *tails, [&](const auto& tail) { return tail.second.enough(query.lines); });
    if (enough) return tails;
  }
}

}  // namespace paceline
