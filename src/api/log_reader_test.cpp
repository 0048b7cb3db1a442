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
  void ranks(JobId, std::optional<std::uint64_t>,
             Told<std::map<std::int32_t, std::uint64_t>> told) override {
    told(std::map<std::int32_t, std::uint64_t>{{0, 0}, {1, 0}});
  }
  void read(const LogPlace& from, std::size_t, LogCut,
            Told<std::optional<LogChunk>> told) override {
    asked.emplace_back(from, std::move(told));
    if (answers_at_once) tell(std::to_string(from.offset));
  }
  [[nodiscard]] ListenToken follow(JobId, std::function<void()>) override { return {}; }
  void attach(const ProcessKey&, Told<std::shared_ptr<ServerStream>> told) override {
    told(fail(ErrorCode::unavailable, "Nobody is there."));
  }

  // Answers the oldest question; an empty text: nothing is there.
  void tell(const std::string& text) {
    auto [from, told] = std::move(asked.front());
    asked.pop_front();
    if (text.empty()) return told(std::optional<LogChunk>{});
    told(LogChunk{from.rank, from.offset, from.offset + 1, text});
  }
  void tell(const Error& error) {
    auto told = std::move(asked.front().second);
    asked.pop_front();
    told(fail(error));
  }

  std::deque<std::pair<LogPlace, Told<std::optional<LogChunk>>>> asked;
  bool answers_at_once = false;
};

class LogReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reader_->look({}, [](const Result<void>& looked) { EXPECT_TRUE(looked); });
  }
  void next() {
    reader_->next(100, LogCut::lines, [this](Result<std::optional<LogChunk>> chunk) {
      got_.push_back(!chunk ? "error" : !*chunk ? "nothing" : (*chunk)->text);
    });
  }

  std::shared_ptr<FarOutput> output_ = std::make_shared<FarOutput>();
  std::shared_ptr<LogReader> reader_ = std::make_shared<LogReader>(
      output_, JobId{1}, std::optional<std::uint32_t>(), LogReader::Offsets{});
  std::vector<std::string> got_;
};

TEST_F(LogReaderTest, RanksTakeTurns) {
  next();
  EXPECT_TRUE(got_.empty()) << "the answer is on its way";
  EXPECT_EQ(output_->asked.front().first.rank, 0);
  output_->tell("a");
  next();
  EXPECT_EQ(output_->asked.front().first.rank, 1);
  output_->tell("b");
  next();
  EXPECT_EQ(output_->asked.front().first.offset, 1U) << "rank 0 goes on where it was";
  output_->tell("c");
  EXPECT_EQ(got_, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(reader_->position(), "0:2,1:1");
}

TEST_F(LogReaderTest, AsksEveryRankBeforeItSaysThatNothingIsThere) {
  next();
  output_->tell("");
  EXPECT_TRUE(got_.empty());
  output_->tell("");
  EXPECT_EQ(got_, std::vector<std::string>{"nothing"});
  EXPECT_TRUE(output_->asked.empty());
}

TEST_F(LogReaderTest, HandsAnErrorOnAndGoesOnAfterIt) {
  next();
  output_->tell(Error{ErrorCode::unavailable, "The node is away.", {}, Retry::may_help});
  EXPECT_EQ(got_, std::vector<std::string>{"error"});
  next();
  output_->tell("later");
  EXPECT_EQ(got_.back(), "later");
}

TEST_F(LogReaderTest, ReadsOneRankAloneIfThatIsAsked) {
  const auto reader =
      std::make_shared<LogReader>(output_, JobId{1}, std::optional(1U), LogReader::Offsets{{0, 5}});
  reader->look({}, [](const Result<void>&) {});
  reader->next(100, LogCut::lines, [](const Result<std::optional<LogChunk>>&) {});
  ASSERT_EQ(output_->asked.size(), 1U);
  EXPECT_EQ(output_->asked.front().first.rank, 1);
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
