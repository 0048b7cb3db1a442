#include "agent/linux/report_ledger.hpp"

#include <algorithm>

namespace paceline::agent {
namespace {

constexpr Duration kWriteInterval = std::chrono::seconds{1};

}  // namespace

ReportLedger::ReportLedger(const ClaimFile& claim, std::uint64_t log_offset) : claim_(claim) {
  const TailPosition tail = claim.tail();
  offset_ = written_ = std::max(log_offset, tail.offset);
  other_ = tail.other;
  other_at_ = tail.other_at;
  checkpoint_ns_ = tail.checkpoint_ns;
}

std::uint64_t ReportLedger::report_line(std::uint64_t offset) {
  std::uint64_t number = offset * kLineNumbers;
  if (offset > other_at_ && number <= other_) number = ++other_;
  unstored_.push_back({number, offset_});
  offset_ = offset;
  return number;
}

std::uint64_t ReportLedger::other() {
  other_ = std::max(other_, offset_ * kLineNumbers) + 1;
  other_at_ = offset_;
  unstored_.push_back({other_, offset_});
  write();
  return other_;
}

std::uint64_t ReportLedger::checkpoint(std::int64_t modified_ns) {
  checkpoint_ns_ = modified_ns;
  return other();
}

std::size_t ReportLedger::stored(std::uint64_t number) {
  const std::size_t before = unstored_.size();
  while (!unstored_.empty() && unstored_.front().number <= number) unstored_.pop_front();
  return before - unstored_.size();
}

std::uint64_t ReportLedger::stored_to() const {
  return unstored_.empty() ? offset_ : unstored_.front().before;
}

void ReportLedger::remember(Time now) {
  const bool set_back = write_next_ - now > kWriteInterval;
  if ((now < write_next_ && !set_back) || stored_to() == written_) return;
  write_next_ = now + kWriteInterval;
  write();
}

void ReportLedger::write() {
  written_ = stored_to();
  claim_.write(TailPosition{written_, other_, checkpoint_ns_, other_at_});
}

}  // namespace paceline::agent
