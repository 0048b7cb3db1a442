#include "cli/log_follower.hpp"

#include <fmt/format.h>

#include "cli/interrupt.hpp"

namespace paceline {
namespace {

// `text` with "[rank] " before each of its lines.
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

void LogPrinter::print(const Document& chunk) {
  const auto rank = whole_of(chunk, "rank");
  const auto offset = whole_of(chunk, "offset"), next = whole_of(chunk, "next");
  auto& known = next_[rank];
  if (next <= known) return;
  const auto text = text_of(chunk, "text");
  std::string_view fresh = text;
  const bool bytes_match = static_cast<std::int64_t>(text.size()) == next - offset;
  if (offset < known && bytes_match) fresh.remove_prefix(static_cast<std::size_t>(known - offset));
  known = next;
  console_.print(query_.name_ranks ? with_rank(rank, fresh) : fresh);
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
  while (!console.broken()) {
    const auto page = api.get(printer.target(false));
    if (!page) return fail(page.error());
    const auto& chunks = list_of(*page, "chunks");
    for (const auto& chunk : chunks) printer.print(chunk);
    if (chunks.empty()) break;
  }
  return {};
}

Result<LogFollower::Step> LogFollower::step(Duration timeout) {
  if (!stream_) {
    auto opened = EventStream::open(socket_, printer_.target(true));
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
  if ((*event)->kind == "end") return Step::ended;
  if ((*event)->kind != "chunk") return Step::waited;
  const auto chunk = parse_document((*event)->data);
  if (!chunk) return fail(chunk.error());
  printer_.print(*chunk);
  return Step::printed;
}

Result<LogFollower::Step> LogFollower::retry(const Error& error) {
  if (patience_.again(error) || Interrupt::pending() != 0) return Step::waited;
  return fail(error);
}

}  // namespace paceline
