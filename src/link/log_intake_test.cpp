// Logs that nodes send, as they come to lie on the server: whatever ends when, nothing of them is
// doubled and nothing is lost.
#include "link/log_intake.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "files/log_times_reader.hpp"
#include "link/bytes_testing.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class LogIntakeTest : public ::testing::Test {
 protected:
  // The server ended and began again.
  LogIntake& begin(std::function<ssize_t(int, const char*, std::size_t)> write = {}) {
    return intake_.emplace(
        LogIntake::Options{.directory = logs_.directory(), .write = std::move(write)});
  }
  void SetUp() override { begin(); }

  [[nodiscard]] static PieceHead piece(std::uint64_t from, std::string_view text,
                                       std::uint64_t removed = 0) {
    return {kLog,
            from,
            from + removed,
            static_cast<std::uint32_t>(text.size()),
            wall_from_us(1'700'000'000'000'000),
            false};
  }
  std::uint64_t take(std::uint64_t from, std::string_view text, std::uint64_t removed = 0) {
    return take(node_, from, text, removed);
  }
  std::uint64_t take(const Sha256& source, std::uint64_t from, std::string_view text,
                     std::uint64_t removed = 0) {
    const auto taken = intake_->take(source, piece(from, text, removed), uid_, text);
    EXPECT_TRUE(taken.has_value()) << taken.error().message;
    return taken.value_or(0);
  }
  std::uint64_t taken(const Sha256& source) {
    return intake_->taken(source, kLog, uid_).value_or(~0ULL);
  }
  [[nodiscard]] std::string log() const { return logs_.text_of(kLog); }
  void append_otherwise(std::string_view text) const { logs_.append(kLog, text); }

  TestLogs logs_;
  const Sha256 node_ = log_source("gpu-3", "a1"), other_ = log_source("gpu-4", "b2");
  const std::uint32_t uid_ = static_cast<std::uint32_t>(::getuid());
  std::optional<LogIntake> intake_;
};

TEST_F(LogIntakeTest, AppendsPiecesAndTheirTimes) {
  EXPECT_EQ(taken(node_), 0U);
  EXPECT_EQ(take(0, "one\n"), 4U);
  EXPECT_EQ(take(4, "two\n"), 8U);
  EXPECT_EQ(log(), "one\ntwo\n");
  struct stat info {};
  ASSERT_EQ(::stat(logs_.path_of(kLog).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto times = LogTimesReader(times_path(logs_.path_of(kLog).string())).after(0, 8);
  EXPECT_EQ(times, (std::vector<LogTime>{{1'700'000'000'000'000, 4}, {1'700'000'000'000'000, 8}}));
  EXPECT_EQ(intake_->take_grown(), (std::set<LogName>{kLog}));
  EXPECT_TRUE(intake_->take_grown().empty());
}

TEST_F(LogIntakeTest, KnowsAfterARestartHowFarItIs) {
  take(0, "one\n");
  take(4, "two");
  begin();
  EXPECT_EQ(taken(node_), 7U);
  EXPECT_EQ(taken(other_), 0U);
  EXPECT_EQ(take(7, " and more\n"), 17U);
  EXPECT_EQ(log(), "one\ntwo and more\n");
}

// Killed at any byte of what it writes, over and over: the node goes on where it says it is.
TEST_F(LogIntakeTest, DoublesAndLosesNothingWhereverItIsKilled) {
  const std::string all = numbered_lines(0, 40);
  for (const std::size_t piece : {1U, 5U, 64U}) {
    std::filesystem::remove_all(logs_.directory() / "logs");
    struct Killed {};
    std::size_t left = 0;  // bytes that are written until it is killed
    const auto write = [&](int fd, const char* bytes, std::size_t size) -> ssize_t {
      const auto count = ::write(fd, bytes, std::min(size, left));
      left -= static_cast<std::size_t>(count);
      if (left == 0) throw Killed();
      return count;
    };
    std::size_t rounds = 0;
    begin(write);
    for (auto at = taken(node_); at < all.size(); at = taken(node_)) {
      ASSERT_LT(++rounds, 4 * all.size());
      left = 1 + rounds % 7;
      const auto text = all.substr(at, piece);
      try {
        take(at, text);
      } catch (const Killed&) {
        begin(write);
      }
    }
    EXPECT_EQ(log(), all);
  }
}

// The same where the server goes on, and the node sends the same piece again.
TEST_F(LogIntakeTest, GoesOnOnceThereIsRoomAgain) {
  std::size_t room = 6;
  begin([&](int fd, const char* bytes, std::size_t size) -> ssize_t {
    if (room == 0) return errno = ENOSPC, -1;
    const auto count = ::write(fd, bytes, std::min(size, room));
    room -= static_cast<std::size_t>(count);
    return count;
  });
  const std::string text = "one\ntwo\n";
  const auto full = intake_->take(node_, piece(0, text), uid_, text);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, ErrorCode::storage);
  EXPECT_EQ(full.error().retry, Retry::may_help);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_EQ(log(), "one\ntw");
  room = 100;
  EXPECT_EQ(take(0, text), 8U);
  EXPECT_EQ(log(), text);
}

// What is missing is said once, also where the server is ended within the sentence.
TEST_F(LogIntakeTest, SaysWhatWasRemovedOnTheNode) {
  take(0, "head");
  EXPECT_EQ(take(4, "tail\n", 8192), 4 + 8192 + 5U);
  EXPECT_EQ(log(), "head\n--- 8192 bytes were removed ---\ntail\n");
  std::size_t room = 10;
  begin([&](int fd, const char* bytes, std::size_t size) -> ssize_t {
    if (room == 0) return errno = ENOSPC, -1;
    const auto count = ::write(fd, bytes, std::min(size, room));
    room -= static_cast<std::size_t>(count);
    return count;
  });
  const auto at = taken(node_);
  EXPECT_FALSE(intake_->take(node_, piece(at, "x\n", 100), uid_, "x\n").has_value());
  begin();
  EXPECT_EQ(taken(node_), at + 100);
  EXPECT_EQ(take(at + 100, "x\n"), at + 102);
  EXPECT_EQ(log().substr(log().find("tail")), "tail\n--- 100 byx\n");
}

TEST_F(LogIntakeTest, AtTheEndOfALogItSaysSoWithoutBytes) {
  take(0, "head\n");
  EXPECT_EQ(take(5, "", 4096), 5 + 4096U);
  EXPECT_EQ(log(), "head\n--- 4096 bytes were removed ---\n");
  EXPECT_EQ(taken(node_), 5 + 4096U);
}

TEST_F(LogIntakeTest, KeepsTheLinesOfSeveralNodesApart) {
  take(0, "from three, unfinished");
  EXPECT_EQ(take(other_, 0, "from four\n"), 10U);
  take(22, " and on\n");
  append_otherwise("from here, unfinished");
  begin();
  take(other_, 10, "and again\n");
  EXPECT_EQ(log(),
            "from three, unfinished\nfrom four\n and on\nfrom here, unfinished\nand again\n");
  EXPECT_EQ(taken(node_), 30U);
}

// Of a node whose directory is another one everything is new.
TEST_F(LogIntakeTest, TakesTheLogOfAnotherDirectoryForAnotherOne) {
  take(0, "one\n");
  EXPECT_EQ(taken(log_source("gpu-3", "a2")), 0U);
  EXPECT_EQ(take(log_source("gpu-3", "a2"), 0, "two\n"), 4U);
  EXPECT_EQ(log(), "one\ntwo\n");
}

TEST_F(LogIntakeTest, RefusesWhatDoesNotGoOn) {
  take(0, "one\n");
  for (const std::uint64_t from : {5U, 100U}) {
    const auto refused = intake_->take(node_, piece(from, "x"), uid_, "x");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  }
  EXPECT_EQ(log(), "one\n");
  ASSERT_TRUE(intake_->begin_anew(node_, kLog, uid_, 2).has_value());
  EXPECT_EQ(take(2, "x\n"), 4U);
  EXPECT_EQ(log(), "one\nx\n");
}

TEST_F(LogIntakeTest, FollowsNoLinks) {
  const auto target = logs_.directory() / "secret";
  std::ofstream(target) << "keep";
  std::filesystem::create_directories(logs_.path_of(kLog).parent_path());
  std::filesystem::create_symlink(target, logs_.path_of(kLog));
  const auto refused = intake_->take(node_, piece(0, "x"), uid_, "x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
  std::filesystem::remove_all(logs_.path_of(kLog).parent_path());
  std::filesystem::create_directories(logs_.directory() / "elsewhere");
  std::filesystem::create_directory_symlink(logs_.directory() / "elsewhere",
                                            logs_.path_of(kLog).parent_path());
  EXPECT_FALSE(intake_->taken(node_, kLog, uid_).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(logs_.directory() / "elsewhere"));
}

TEST_F(LogIntakeTest, HoldsFewLogsOpenAndForgetsThoseThatAreRemoved) {
  intake_.emplace(LogIntake::Options{.directory = logs_.directory(), .open_max = 2});
  for (int round = 0; round < 3; ++round)
    for (std::int32_t number = 0; number < 5; ++number) {
      PieceHead head = piece(static_cast<std::uint64_t>(round) * 2, "x\n");
      head.log.number = number;
      EXPECT_TRUE(intake_->take(node_, head, uid_, "x\n").has_value());
    }
  EXPECT_EQ(logs_.text_of({JobId{7}, 4}), "x\nx\nx\n");
  std::filesystem::remove_all(logs_.path_of(kLog).parent_path());
  EXPECT_EQ(taken(node_), 0U);
}

// Beside a log of the same process, with notes of its own.
TEST_F(LogIntakeTest, TakesTimelinesAsItTakesLogs) {
  const LogName timeline{kLog.job, timeline_of(kLog.number)};
  take(0, "one\n");
  PieceHead head = piece(0, "{}\n", 5);
  head.log = timeline;
  EXPECT_EQ(intake_->take(node_, head, uid_, "{}\n").value_or(0), 8U);
  begin();
  EXPECT_EQ(intake_->taken(node_, timeline, uid_).value_or(0), 8U);
  EXPECT_EQ(taken(node_), 4U);
  EXPECT_EQ(log(), "one\n");
  EXPECT_EQ(logs_.text_of(timeline), "--- 5 bytes were removed ---\n{}\n");
  EXPECT_EQ(logs_.path_of(timeline).filename(), "rank0.timeline");
  EXPECT_EQ(LogTimesReader(times_path(logs_.path_of(kLog).string())).after(0, 8).size(), 1U);
}

// What is damaged there is sent anew rather than lost.
TEST_F(LogIntakeTest, PassesOverDamagedRecords) {
  take(0, "one\n");
  auto beside = logs_.path_of(kLog);
  beside.replace_extension(".sources");
  for (const std::streamoff at : {0, 33, 60}) {
    std::fstream file(beside, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.put('?');
    file.close();
    begin();
    EXPECT_EQ(taken(node_), 0U) << at;
  }
  EXPECT_EQ(take(0, "one\n"), 4U);
}

TEST_F(LogIntakeTest, OfTooManyNodesALogDoesNotCome) {
  for (std::size_t i = 0; i < kLogSourcesMax; ++i)
    take(log_source("node", std::to_string(i)), 0, "x\n");
  const auto refused = intake_->take(node_, piece(0, "x"), uid_, "x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("too many nodes"));
}

}  // namespace
}  // namespace paceline
