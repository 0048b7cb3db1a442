#include "cli/client/log_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/client/interrupt.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLineMax = 1 << 20;
// Less than any page that a server cuts off because there is more.
constexpr std::int64_t kLastPageMax = 64 << 10;

// `text` with "[rank] " before each of its lines; the last one may lack its end.
std::string with_rank(std::int64_t rank, std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines += fmt::format("[{}] {}\n", rank, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::int64_t LogPrinter::print(const Document& chunk) {
  const auto rank = whole_of(chunk, "rank");
  const auto offset = whole_of(chunk, "offset"), next = whole_of(chunk, "next");
  auto& known = next_[rank];
  if (next <= known) return 0;
  const auto text = text_of(chunk, "text");
  std::string_view fresh = text;
  const bool bytes_match = static_cast<std::int64_t>(text.size()) == next - offset;
  if (offset < known && bytes_match) fresh.remove_prefix(static_cast<std::size_t>(known - offset));
  known = next;
  if (query_.name_ranks) {
    print_lines(rank, fresh);
  } else {
    console_.print(fresh);
  }
  return next - offset;
}

void LogPrinter::print_lines(std::int64_t rank, std::string_view text) {
  auto& line = begun_[rank];
  line += text;
  const auto end = line.size() > kLineMax ? line.size() : line.rfind('\n') + 1;
  console_.print(with_rank(rank, std::string_view(line).substr(0, end)));
  line.erase(0, end);
}

void LogPrinter::finish() {
  for (auto& [rank, line] : begun_) console_.print(with_rank(rank, std::exchange(line, {})));
}

std::string LogPrinter::target(bool follow) const {
  std::string query;
  if (query_.rank) query += fmt::format("&rank={}", *query_.rank);
  if (query_.tail_bytes && next_.empty())
    query += fmt::format("&tail_bytes={}", *query_.tail_bytes);
  std::string offsets;
  for (const auto& [rank, next] : next_) {
    offsets += fmt::format("{}{}:{}", offsets.empty() ? "" : ",", rank, next);
  }
  if (!offsets.empty()) query += "&offset=" + offsets;
  if (follow) query += "&follow=1";
  if (!query.empty()) query.front() = '?';
  return job_target(query_.job, "logs") + query;
}

Result<void> print_log(Api& api, Console& console, const LogQuery& query) {
  LogPrinter printer(console, query);
  for (std::int64_t page_bytes = kLastPageMax; page_bytes >= kLastPageMax;) {
    const auto page = api.get(printer.target(false));
    if (!page) return fail(page.error());
    page_bytes = 0;
    for (const auto& chunk : list_of(*page, "chunks")) page_bytes += printer.print(chunk);
    if (console.broken()) break;
  }
  printer.finish();
  return {};
}

Result<LogFollower::Step> LogFollower::step(Duration timeout) {
  if (!stream_) {
    auto opened = EventStream::open(server_, printer_.target(true));
    if (!opened) return retry(opened.error());
    stream_ = std::move(*opened);
    patience_.over();
  }
  const auto event = stream_->next(timeout);
  if (!event) {
    stream_.reset();
    return retry(event.error());
  }
  if (!*event) return Step::waited;
  if ((*event)->kind == "end") {
    printer_.finish();
    return Step::ended;
  }
  if ((*event)->kind != "chunk") return Step::waited;
  const auto chunk = parse_document((*event)->data);
  if (!chunk) return fail(chunk.error());
  (void)printer_.print(*chunk);
  return Step::printed;
}

Result<LogFollower::Step> LogFollower::retry(const Error& error) {
  if (patience_.again(error) || Interrupt::pending() != 0) return Step::waited;
  return fail(error);
}

}  // namespace paceline
