#include "cli/client/log_follower.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/client/interrupt.hpp"
#include "cli/client/log_tail.hpp"

namespace paceline {
namespace {

// Less than any page that a server cuts off because there is more.
constexpr std::int64_t kLastPageMax = 64 << 10;

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
  lines_.print(rank, fresh, number_of(chunk, "at"));
  return next - offset;
}

Result<void> LogPrinter::print_tail(Api& api) {
  if (!query_.tail_lines) return {};
  const auto tail = read_log_tail(
      api, {query_.job, query_.rank, *query_.tail_lines, query_.since, query_.show.times});
  if (!tail) return fail(tail.error());
  for (const auto& [rank, lines] : *tail) next_[rank] = lines.next;
  const auto lines = in_order(*tail);
  for (auto first = lines.begin(); first != lines.end();) {
    std::string text;
    auto next = first;
    for (;
         next != lines.end() && next->first == first->first && next->second.at == first->second.at;
         ++next)
      text += next->second.text;
    lines_.print(first->first, text, first->second.at);
    first = next;
  }
  return {};
}

std::string LogPrinter::target(bool follow) const {
  std::string query;
  if (query_.rank) query += fmt::format("&rank={}", *query_.rank);
  // A page may lack some ranks: it holds for those that come with the next.
  const bool begins = next_.empty() || !follow;
  if (query_.tail_bytes && begins) query += fmt::format("&tail_bytes={}", *query_.tail_bytes);
  if (begins) query += since_query(query_.since);
  if (query_.show.times) query += "&times=1";
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
  if (auto tail = printer.print_tail(api); !tail) return tail;
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
