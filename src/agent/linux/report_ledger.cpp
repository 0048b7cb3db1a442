#include "agent/linux/report_ledger.hpp"

#include <algorithm>

namespace paceline::agent {
namespace {

constexpr Duration kSettleTime = std::chrono::seconds{5};
constexpr Duration kMarkInterval = std::chrono::seconds{1};

}  // namespace

ReportLedger::ReportLedger(const ClaimFile& claim, std::uint64_t log_offset) : claim_(claim) {
  const TailPosition tail = claim.tail();
  offset_ = stored_ = std::max(log_offset, tail.offset);
  others_ = tail.others;
  checkpoint_ns_ = tail.checkpoint_ns;
}

std::uint64_t ReportLedger::read_to(std::uint64_t offset) {
  offset_ = offset;
  return offset_ + others_;
}

std::uint64_t ReportLedger::other() {
  ++others_;
  unsettled_.clear();
  store(offset_);
  return offset_ + others_;
}

std::uint64_t ReportLedger::checkpoint(std::int64_t modified_ns) {
  checkpoint_ns_ = modified_ns;
  return other();
}

void ReportLedger::settle(Time now) {
  while (!unsettled_.empty() && now - unsettled_.front().at >= kSettleTime) {
    store(unsettled_.front().offset);
    unsettled_.pop_front();
  }
  const std::uint64_t marked = unsettled_.empty() ? stored_ : unsettled_.back().offset;
  const bool due = unsettled_.empty() || now - unsettled_.back().at >= kMarkInterval;
  if (due && offset_ > marked) unsettled_.push_back({now, offset_});
}

void ReportLedger::store(std::uint64_t offset) {
  stored_ = offset;
  claim_.write(TailPosition{offset, others_, checkpoint_ns_});
}

}  // namespace paceline::agent
