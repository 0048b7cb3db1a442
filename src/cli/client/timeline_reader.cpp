#include "cli/client/timeline_reader.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace paceline {
namespace {

// Less than any page that a server cuts off because there is more.
constexpr std::int64_t kFullPage = 64 << 10;

// Where one file is.
struct TimelinePlace {
  std::int64_t next = 0;
  std::string unfinished;  // line
};

class PieceReader {
 public:
  PieceReader(const TimelineQuery& query, const TakePiece& take) : query_(query), take_(take) {}

  [[nodiscard]] std::string target() const {
    std::string query;
    if (query_.rank) query += fmt::format("&rank={}", *query_.rank);
    for (bool first = true; const auto& [number, place] : places_) {
      query += fmt::format("{}{}:{}", std::exchange(first, false) ? "&offset=" : ",", number,
                           place.next);
    }
    if (!query.empty()) query.front() = '?';
    return job_target(query_.job, "timeline") + query;
  }

  // Answers how many bytes were new; nothing: no more is wanted.
  std::optional<std::int64_t> add(const Document& chunk) {
    const auto number = static_cast<std::int32_t>(whole_of(chunk, "rank"));
    const auto next = whole_of(chunk, "next");
    auto& place = places_[number];
    if (next <= place.next) return 0;
    place.next = next;
    place.unfinished += text_of(chunk, "text");
    if (!take_lines(number, place.unfinished)) return std::nullopt;
    return next - whole_of(chunk, "offset");
  }

 private:
  bool take_lines(std::int32_t number, std::string& text) const {
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      auto piece = parse_timeline_line(std::string_view(text).substr(begin, end - begin));
      if (piece && !take_(number, std::move(*piece))) return false;
    }
    text.erase(0, begin);
    return true;
  }

  const TimelineQuery& query_;
  const TakePiece& take_;
  std::map<std::int32_t, TimelinePlace> places_;
};

}  // namespace

Result<void> read_timeline(Api& api, const TimelineQuery& query, const TakePiece& take) {
  PieceReader reader(query, take);
  for (std::int64_t page_bytes = kFullPage; page_bytes >= kFullPage;) {
    const auto page = api.get(reader.target());
    if (!page) return fail(page.error());
    page_bytes = 0;
    for (const auto& chunk : list_of(*page, "chunks")) {
      const auto bytes = reader.add(chunk);
      if (!bytes) return {};
      page_bytes += *bytes;
    }
  }
  return {};
}

}  // namespace paceline
