#include "api/log_order.hpp"

#include <algorithm>
#include <limits>

namespace paceline {
namespace {

constexpr std::size_t kTimesAtOnce = 64;
constexpr std::size_t kPiecesAtOnce = 256;
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

// Where one log is.
class Head {
 public:
  Head(const LogFiles& files, std::int32_t rank, std::uint64_t offset)
      : files_(&files), rank_(rank), offset_(offset) {
    go_on(offset);
  }

  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // When what comes next was written; before all others where that is not known.
  [[nodiscard]] std::int64_t at_us() const {
    return times_.empty() ? kUnknown : times_[now_].at_us;
  }
  [[nodiscard]] bool is_known() const { return !times_.empty(); }

  // As far as it goes without a line later than `at_us`, the next one aside.
  [[nodiscard]] LogTime piece(std::int64_t at_us) const {
    if (times_.empty()) return {kUnknown, std::numeric_limits<std::uint64_t>::max()};
    std::size_t last = now_;
    while (last + 1 < times_.size() && times_[last + 1].at_us <= at_us) ++last;
    return times_[last];
  }

  void go_on(std::uint64_t offset) {
    offset_ = offset;
    while (now_ < times_.size() && times_[now_].length <= offset_) ++now_;
    if (now_ < times_.size()) return;
    times_ = files_->times(rank_, offset_, kTimesAtOnce);
    now_ = 0;
  }

 private:
  const LogFiles* files_;
  std::int32_t rank_;
  std::uint64_t offset_;
  std::vector<LogTime> times_;  // of what comes after the offset; the first `now_` are behind it
  std::size_t now_ = 0;
};

// In the order of their turns.
std::vector<Head> heads_of(const LogFiles& files, const LogsWanted& wanted) {
  std::vector<Head> heads;
  const auto add = [&](auto from, auto to) {
    for (; from != to; ++from)
      if (files.size(from->first) > from->second)
        heads.emplace_back(files, from->first, from->second);
  };
  const auto next = wanted.from.upper_bound(wanted.turn);
  add(next, wanted.from.end());
  add(wanted.from.begin(), next);
  return heads;
}

// Until when the first head may go on: as long as no other has an earlier line.
std::int64_t time_of_others(const std::vector<Head>& heads, const Head& first) {
  std::int64_t at_us = std::numeric_limits<std::int64_t>::max();
  for (const Head& head : heads)
    if (&head != &first) at_us = std::min(at_us, head.at_us());
  return at_us;
}

}  // namespace

std::vector<LogChunk> read_in_order(const LogFiles& files, const LogsWanted& wanted) {
  std::vector<Head> heads = heads_of(files, wanted);
  std::vector<LogChunk> chunks;
  for (std::size_t left = wanted.bytes_max;
       left > 0 && chunks.size() < kPiecesAtOnce && !heads.empty();) {
    const auto first = std::ranges::min_element(heads, {}, &Head::at_us);
    const bool joined = wanted.pieces == LogPieces::joined;
    const LogTime piece = first->piece(joined ? time_of_others(heads, *first) : kUnknown);
    const auto bytes = wanted.cut == LogCut::lines ? wanted.bytes_max : left;
    auto chunk = files.read(first->rank(), first->offset(), {bytes, wanted.cut, piece.length});
    if (!chunk) {
      heads.erase(first);
      continue;
    }
    if (first->is_known()) chunk->at = wall_from_us(piece.at_us);
    left -= std::min<std::size_t>(left, chunk->next - chunk->offset);
    first->go_on(chunk->next);
    std::rotate(first, first + 1, heads.end());
    chunks.push_back(std::move(*chunk));
  }
  return chunks;
}

}  // namespace paceline
