#include "store/sqlite/journal_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/sqlite/sum.hpp"

namespace paceline {

Result<bool> JournalCut::step(std::uint64_t keep, std::uint64_t needless, const Commit& commit) {
  const std::uint64_t first = journal_.first_seq(), last = journal_.last_seq();
  if (first == 0) return false;
  if (const Segment* segment = segments_.find(first)) return delete_rows(*segment, first, commit);
  if (!writer_) {
    const auto count = std::clamp<std::uint64_t>(keep / 10, 1, kEntriesMax);
    const std::uint64_t end = first + count - 1;
    if (end > needless || end >= last || last - end < keep) return false;
    writer_.emplace();
    next_ = first;
    last_ = end;
  }
  return add_rows(last_);
}

Result<bool> JournalCut::add_rows(std::uint64_t last) {
  const auto count = std::min<std::uint64_t>(kAtOnce, last - next_ + 1);
  journal_.each_text(next_, count, [&](const JournalTable::Stored& row) {
    if (writer_->text_bytes() >= kTextMax) return;
    writer_->add(row.seq, row.at, row.body);
    next_ = row.seq + 1;
  });
  if (next_ <= last && writer_->text_bytes() < kTextMax) return true;
  const auto file = std::move(*std::exchange(writer_, std::nullopt)).finish();
  if (auto added = segments_.add(file); !added) return fail(added.error());
  return true;
}

// A segment that can't be read is of no use as long as all of its rows are still there.
Result<bool> JournalCut::delete_rows(const Segment& segment, std::uint64_t first,
                                     const Commit& commit) {
  const auto lines = segments_.lines(segment);
  if (!lines) {
    if (lines.error().code != ErrorCode::data || first != segment.first) return fail(lines.error());
    if (auto aside = segments_.set_aside_after(first - 1); !aside) return fail(aside.error());
    return true;
  }
  const std::uint64_t end = std::min(segment.last, first + kAtOnce - 1);
  journal_.each_text(first, end - first + 1, [&](const JournalTable::Stored& row) {
    if (row.seq > end || (*lines)->at(row.seq) != row.body)
      throw Damage{fmt::format("entry {} of the journal is another one in its segment", row.seq)};
  });
  if (auto done = commit([&] { journal_.delete_up_to(end); }); !done) return fail(done.error());
  return true;
}

}  // namespace paceline
