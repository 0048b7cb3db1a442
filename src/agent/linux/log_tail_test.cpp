#include "agent/linux/log_tail.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

struct Seen {
  std::uint64_t number;
  std::uint64_t step;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class LogTailTest : public ::testing::Test {
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
  LogTail tail(ReportLedger& ledger, std::uint64_t end_bytes = LogTail::kEndBytes) {
    return LogTail(
        directory_ / "log", ledger,
        [this](std::uint64_t number, const Report& report) {
          seen_.push_back({number, report.step.value_or(0)});
        },
        end_bytes);
  }
  static void read_all(LogTail& tail) {
    while (tail.step() > 0) {
    }
  }
  void make_longer(off_t bytes) {
    struct stat info {};
    ASSERT_EQ(::stat((directory_ / "log").c_str(), &info), 0);
    ASSERT_EQ(::truncate((directory_ / "log").c_str(), info.st_size + bytes), 0);
  }
  static std::string report(int step) {
    return "{\"paceline\": {\"step\": " + std::to_string(step) + "}}\n";
  }
  static std::uint64_t size(int reports) {
    return static_cast<std::uint64_t>(reports) * report(1).size();
  }
  // Of the report in the line that ends there.
  static std::uint64_t number(std::uint64_t offset) { return offset * kLineNumbers; }
  static Time at(int second) { return time_from_us(second * 1'000'000LL); }

  TempDirectory directory_;
  std::vector<Seen> seen_;
};

TEST_F(LogTailTest, NumbersAReportByTheOffsetBehindItsLine) {
  append("--- mark ---\n");
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 13);
  LogTail tail = this->tail(ledger);
  append(report(1) + report(2).substr(0, 10));
  read_all(tail);
  EXPECT_EQ(seen_, (std::vector<Seen>{{number(13 + size(1)), 1}}));
  append(report(2).substr(10));
  read_all(tail);
  EXPECT_EQ(seen_.back(), (Seen{number(13 + size(2)), 2}));
}

TEST_F(LogTailTest, OtherReportsHaveTheNumbersBetween) {
  append(report(1));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  EXPECT_EQ(ledger.other(), number(size(1)) + 1);
  EXPECT_EQ(ledger.other(), number(size(1)) + 2);
  append(report(2));
  read_all(tail);
  EXPECT_EQ(seen_.back(), (Seen{number(size(2)), 2}));
}

TEST_F(LogTailTest, NumbersGrowHoweverManyOtherReportsCome) {
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  claim.write(TailPosition{0, number(1'000), 0, 0});
  ReportLedger ledger(claim, 0);
  EXPECT_EQ(ledger.report_line(20), number(1'000) + 1);
  EXPECT_EQ(ledger.other(), number(1'000) + 2);
  EXPECT_EQ(ledger.report_line(1'001), number(1'001));
}

TEST_F(LogTailTest, AfterARestartLinesThatAreNotStoredHaveTheirNumbersAgain) {
  append(report(1));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  {
    ReportLedger ledger(claim, 0);
    LogTail tail = this->tail(ledger);
    read_all(tail);
    ledger.stored(number(size(1)));
    append(report(2));
    read_all(tail);
    ledger.checkpoint(77);
    append(report(3));
    read_all(tail);
  }
  const std::vector<Seen> before = std::exchange(seen_, {});
  ReportLedger again(claim, 0);
  EXPECT_EQ(again.checkpoint_ns(), 77);
  LogTail tail = this->tail(again);
  read_all(tail);
  EXPECT_EQ(seen_, (std::vector<Seen>{before[1], before[2]}));
  EXPECT_EQ(again.other(), number(size(3)) + 1);
}

TEST_F(LogTailTest, OnlyWhatIsStoredIsRemembered) {
  append(report(1) + "hello\n" + report(2) + "hello\n");
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  ledger.remember(at(10));
  EXPECT_EQ(claim.tail().offset, 0U);
  EXPECT_EQ(ledger.stored(seen_[0].number), 1U);
  ledger.remember(at(20));
  EXPECT_EQ(claim.tail().offset, size(1) + 6);
  EXPECT_EQ(ledger.stored(seen_[1].number), 1U);
  ledger.remember(at(20));
  EXPECT_EQ(claim.tail().offset, size(1) + 6) << "once a second is enough";
  ledger.remember(at(21));
  EXPECT_EQ(claim.tail().offset, size(2) + 12);
}

TEST_F(LogTailTest, SkipsALineThatIsTooLong) {
  append(report(1) + "{\"paceline\": {\"step\": 9}, \"x\": \"" + std::string(200'000, 'x') +
         "\"}\n" + report(2));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1].step, 2U);
}

TEST_F(LogTailTest, AtTheEndALastLineWithoutItsNewlineCounts) {
  append(report(1) + "{\"paceline\": {\"step\": 2}}");
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  EXPECT_EQ(seen_.size(), 1U);
  tail.end();
  read_all(tail);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1], (Seen{number(size(2) - 1), 2}));
}

TEST_F(LogTailTest, JumpsAHoleOfEightTerabytes) {
  append(report(1));
  make_longer(off_t{8} << 40);
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  EXPECT_LT(tail.bytes_read(), 1U << 20);
  append(report(2));
  tail.end();
  read_all(tail);
  EXPECT_LT(tail.bytes_read(), 1U << 20);
  EXPECT_EQ(tail.passed_over(), LogTail::Bytes{});
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1], (Seen{number((std::uint64_t{8} << 40) + size(2)), 2}));
}

TEST_F(LogTailTest, ReadsABoundedPartOfALongLogAtTheEnd) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::string line = std::string(1023, 'x') + "\n";
  append(report(1));
  std::string text;
  for (int i = 0; i < 1024; ++i) text += line;
  for (int i = 0; i < 40; ++i) append(text);
  append(report(3));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger, kMost);
  tail.end();
  read_all(tail);
  EXPECT_EQ(tail.bytes_read(), kMost);
  const std::uint64_t log = size(2) + (40 << 20);
  const std::uint64_t cut = kMost / 2 - size(1);  // the middle of a line
  EXPECT_EQ(tail.passed_over(),
            (LogTail::Bytes{kMost / 2 - cut % line.size(), log - kMost / 2 + 1}));
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1].step, 3U);
}

TEST_F(LogTailTest, TheEndOfALogThatIsMadeShorterIsItsEnd) {
  append(report(1) + report(2));
  const ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail = this->tail(ledger);
  read_all(tail);
  ASSERT_EQ(::truncate((directory_ / "log").c_str(), 3), 0);
  tail.end();
  read_all(tail);
  EXPECT_EQ(seen_.size(), 2U);
}

}  // namespace
}  // namespace paceline::agent
