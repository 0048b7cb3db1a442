#include "agent/linux/report_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace paceline::agent {
namespace {

constexpr Duration kSettleTime = std::chrono::seconds{5};
constexpr Duration kMarkInterval = std::chrono::seconds{1};

struct Stored {
  std::uint64_t offset = 0;
  std::uint64_t others = 0;
};

}  // namespace

ReportLedger::ReportLedger(int claim, std::uint64_t log_offset)
    : file_(::openat(claim, "tail", O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      offset_(log_offset),
      stored_(log_offset) {
  Stored stored;
  if (::pread(file_.get(), &stored, sizeof stored, 0) != static_cast<ssize_t>(sizeof stored))
    return;
  offset_ = stored_ = std::max(log_offset, stored.offset);
  others_ = stored.others;
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
  const Stored stored{offset, others_};
  stored_ = offset;
  // A position that can't be written only means that more lines are read again.
  static_cast<void>(::pwrite(file_.get(), &stored, sizeof stored, 0) < 0);
}

}  // namespace paceline::agent
