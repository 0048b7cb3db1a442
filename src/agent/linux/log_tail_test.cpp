#include "agent/linux/log_tail.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

struct Seen {
  std::uint64_t number;
  std::uint64_t step;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class LogTailTest : public testing::Test {
 protected:
  LogTailTest() { EXPECT_TRUE(ClaimFile::create(directory_ / "claim", order())); }

  static WorkerOrder order() {
    WorkerOrder order;
    order.key = key(1);
    order.command = {"x"};
    return order;
  }
  void append(const std::string& text) {
    const UniqueFd fd(::open((directory_ / "log").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600));
    ASSERT_TRUE(write_all(fd.get(), text));
  }
  LogTail tail(ReportLedger& ledger) {
    return LogTail(directory_ / "log", ledger, [this](std::uint64_t number, const Report& report) {
      seen_.push_back({number, report.step.value_or(0)});
    });
  }
  static std::string report(int step) {
    return "{\"paceline\": {\"step\": " + std::to_string(step) + "}}\n";
  }
  static std::uint64_t size(int reports) {
    return static_cast<std::uint64_t>(reports) * report(1).size();
  }

  TempDirectory directory_;
  std::vector<Seen> seen_;
};

TEST_F(LogTailTest, NumbersAReportByTheOffsetBehindItsLine) {
  append("--- mark ---\n");
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 13);
  LogTail tail = this->tail(ledger);
  append(report(1) + report(2).substr(0, 10));
  tail.step();
  EXPECT_EQ(seen_, (std::vector<Seen>{{13 + size(1), 1}}));
  append(report(2).substr(10));
  tail.step();
  EXPECT_EQ(seen_.back(), (Seen{13 + size(2), 2}));
}

TEST_F(LogTailTest, OtherReportsGrowTheNumbersToo) {
  append(report(1));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  tail.step();
  EXPECT_EQ(ledger.other(), size(1) + 1);
  EXPECT_EQ(ledger.other(), size(1) + 2);
  append(report(2));
  tail.step();
  EXPECT_EQ(seen_.back(), (Seen{size(2) + 2, 2}));
}

TEST_F(LogTailTest, AfterARestartLinesHaveTheirNumbersAgain) {
  append(report(1));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  {
    ReportLedger ledger(claim, 0);
    LogTail tail = this->tail(ledger);
    tail.step();
    ledger.checkpoint(77);
    append(report(2) + report(3));
    tail.step();
  }
  const std::vector<Seen> before = std::exchange(seen_, {});
  ReportLedger again(claim, 0);
  EXPECT_EQ(again.checkpoint_ns(), 77);
  LogTail tail = this->tail(again);
  tail.step();
  EXPECT_EQ(seen_, (std::vector<Seen>{before[1], before[2]}));
}

TEST_F(LogTailTest, LinesAreSettledSomeSecondsLate) {
  append(report(1));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  tail.step();
  const auto at = [](int seconds) { return time_from_us(seconds * 1'000'000LL); };
  ledger.settle(at(0));
  ledger.settle(at(4));
  EXPECT_EQ(claim.tail().offset, 0U);
  ledger.settle(at(5));
  EXPECT_EQ(claim.tail().offset, size(1));
}

TEST_F(LogTailTest, SkipsALineThatIsTooLong) {
  append(report(1) + "{\"paceline\": {\"step\": 9}, \"x\": \"" + std::string(200'000, 'x') +
         "\"}\n" + report(2));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  tail.step();
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1].step, 2U);
}

TEST_F(LogTailTest, DrainsTheLastLineWithoutItsNewline) {
  append(report(1) + "{\"paceline\": {\"step\": 2}}");
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  tail.drain();
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1], (Seen{size(2) - 1, 2}));
}

}  // namespace
}  // namespace paceline::agent
