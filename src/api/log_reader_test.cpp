// Logs that lie elsewhere: every answer comes later, or not at all.
#include "api/log_reader.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace paceline {
namespace {

// Keeps each question until it is told what to answer.
class FarOutput final : public WorkerOutput {
 public:
  void ranks(JobId, LogKind, const LogStart&,
             Told<std::map<std::int32_t, std::uint64_t>> told) override {
    told(std::map<std::int32_t, std::uint64_t>{{0, 0}, {1, 0}});
  }
  void read(const LogsWanted& wanted, Told<std::vector<LogChunk>> told) override {
    asked.emplace_back(wanted, std::move(told));
    if (!answers_at_once) return;
    const std::uint64_t at = wanted.from.at(0);
    tell(std::vector<LogChunk>{{0, at, at + 1, "x"}});
  }
  [[nodiscard]] ListenToken follow(JobId, std::function<void()>) override { return {}; }
  void gather(JobId, std::chrono::milliseconds, std::function<void()> done) override { done(); }
  void attach(const ProcessKey&, Told<std::shared_ptr<ServerStream>> told) override {
    told(fail(ErrorCode::unavailable, "Nobody is there."));
  }
  void stacks(const ProcessKey&, Told<std::string> told) override {
    told(fail(ErrorCode::unavailable, "Nobody is there."));
  }

  // Answers the oldest question.
  void tell(Result<std::vector<LogChunk>> answer) {
    const auto told = std::move(asked.front().second);
    asked.pop_front();
    told(std::move(answer));
  }

  std::deque<std::pair<LogsWanted, Told<std::vector<LogChunk>>>> asked;
  bool answers_at_once = false;
};

class LogReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reader_->look({}, [](const Result<void>& looked) { EXPECT_TRUE(looked); });
  }
  // A question that is never answered holds its asker.
  void TearDown() override { output_->asked.clear(); }
  void next() {
    reader_->next(100, LogCut::lines, [this](Result<std::optional<LogChunk>> chunk) {
      got_.push_back(!chunk ? "error" : !*chunk ? "nothing" : (*chunk)->text);
    });
  }

  std::shared_ptr<FarOutput> output_ = std::make_shared<FarOutput>();
  std::shared_ptr<LogReader> reader_ =
      std::make_shared<LogReader>(output_, LogReader::Of{JobId{1}}, LogReader::Offsets{});
  std::vector<std::string> got_;
};

TEST_F(LogReaderTest, HandsOutWhatWasReadPieceByPieceAndSaysWhereItIs) {
  next();
  EXPECT_TRUE(got_.empty()) << "the answer is on its way";
  output_->tell(std::vector<LogChunk>{{1, 0, 2, "b"}, {0, 0, 1, "a"}});
  EXPECT_EQ(got_, std::vector<std::string>{"b"});
  EXPECT_EQ(reader_->position(), "0:0,1:2");
  next();
  EXPECT_EQ(got_, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(reader_->position(), "0:1,1:2");
  EXPECT_TRUE(output_->asked.empty());
  next();
  ASSERT_EQ(output_->asked.size(), 1U);
  EXPECT_EQ(output_->asked.front().first.from, (LogReader::Offsets{{0, 1}, {1, 2}}));
  EXPECT_EQ(output_->asked.front().first.turn, 0) << "whose turn it was";
}

TEST_F(LogReaderTest, SaysThatNothingIsThere) {
  next();
  output_->tell(std::vector<LogChunk>{});
  EXPECT_EQ(got_, std::vector<std::string>{"nothing"});
  EXPECT_TRUE(output_->asked.empty());
}

TEST_F(LogReaderTest, HandsAnErrorOnAndGoesOnAfterIt) {
  next();
  output_->tell(fail(ErrorCode::unavailable, "The node is away.", {}, Retry::may_help));
  EXPECT_EQ(got_, std::vector<std::string>{"error"});
  next();
  output_->tell(std::vector<LogChunk>{{0, 0, 5, "later"}});
  EXPECT_EQ(got_.back(), "later");
}

TEST_F(LogReaderTest, ReadsOneRankAloneIfThatIsAsked) {
  const auto reader =
      std::make_shared<LogReader>(output_, LogReader::Of{JobId{1}, LogKind::timeline, 1},
                                  LogReader::Offsets{{0, 5}}, LogPieces::timed);
  reader->look({}, [](const Result<void>&) {});
  reader->next(100, LogCut::lines, [](const Result<std::optional<LogChunk>>&) {});
  ASSERT_EQ(output_->asked.size(), 1U);
  EXPECT_EQ(output_->asked.front().first.from, (LogReader::Offsets{{1, 0}}));
  EXPECT_EQ(output_->asked.front().first.pieces, LogPieces::timed);
  EXPECT_EQ(output_->asked.front().first.kind, LogKind::timeline);
  EXPECT_EQ(reader->position(), "0:5,1:0");
}

// Each piece is asked for while the one before is taken: that must not fill the stack.
TEST_F(LogReaderTest, TakesAnyNumberOfPiecesInARow) {
  constexpr int kPieces = 200'000;
  output_->answers_at_once = true;
  int pieces = 0;
  std::function<void()> ask = [&] {
    reader_->next(100, LogCut::anywhere, [&](const Result<std::optional<LogChunk>>&) {
      if (++pieces < kPieces) ask();
    });
  };
  ask();
  EXPECT_EQ(pieces, kPieces);
}

}  // namespace
}  // namespace paceline
