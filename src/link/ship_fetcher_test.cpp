// Ships on their way to a node, and a server that is played by hand: what is asked for, and what becomes of
// connections that end, of answers that don't fit, and of silence.
#include "link/ship_fetcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/temp_folder_testing.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr JobId kJob{7};

class ShipFetcherTest : public ::testing::Test {
 protected:
  ShipFetcherTest() {
    for (const auto& [path, text] : files_)
      manifest_.files.push_back({path, 0644, text.size(), to_hex(sha256(text))});
    EXPECT_TRUE(tidy_manifest(manifest_));
    text_ = to_text(manifest_);
    ship_ = ship_name(text_);
    for (const auto& [path, text] : files_) served_[to_hex(sha256(text))] = text;
    served_[ship_] = text_;
    fetcher_.begin();
  }

  void fetch() {
    outcome_.reset();
    fetcher_.fetch({kJob, 1000, ship_},
                   [this](ShipFetcher::Fetched done) { outcome_ = std::move(done); });
    fetcher_.look(now_);
  }
  // The server's answer to a line of the node's.
  void answer(const std::string& line) {
    const auto read = decode_node_line(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(read);
    if (std::holds_alternative<ShipDamaged>(*read)) ++damaged_;
    const auto* wanted = std::get_if<ShipWanted>(&*read);
    if (wanted == nullptr) return;
    const auto& whole = served_.at(wanted->sha256);
    const auto bytes = whole.substr(wanted->from, kPieceBytesMax);
    sent_ += bytes.size();
    fetcher_.take(ShipPart{wanted->job, wanted->sha256, wanted->from,
                           static_cast<std::uint32_t>(bytes.size()), whole.size()},
                  bytes, now_);
  }
  // Answers so many lines, or all.
  void serve(std::size_t most = 1'000) {
    for (; most > 0; --most) {
      const auto line = fetcher_.next();
      if (!line) return fetcher_.look(now_);
      answer(*line);
    }
  }
  [[nodiscard]] bool has_all() {
    for (const auto& file : manifest_.files) {
      const auto bytes = read_ship_bytes(folder_.path() / "ships", 1000, file.sha256, 0, 10 << 20);
      if (!bytes || to_hex(sha256(bytes->bytes)) != file.sha256) return false;
    }
    return true;
  }

  const std::map<std::string, std::string> files_{
      {"a.py", "print()"}, {"b.bin", std::string(600'000, 'b')}, {"c", ""}, {"d.py", "print()"}};
  TempFolder folder_;
  ShipFetcher fetcher_{{.store = {.directory = folder_.path() / "ships"}}};
  ShipFetcher::Instant now_{};
  Manifest manifest_;
  std::string text_, ship_;
  std::map<std::string, std::string> served_;
  std::optional<ShipFetcher::Fetched> outcome_;
  std::size_t sent_ = 0;
  int damaged_ = 0;
};

TEST_F(ShipFetcherTest, BringsWhatTheStoreLacks) {
  fetch();
  serve();
  ASSERT_TRUE(outcome_);
  EXPECT_TRUE(*outcome_);
  EXPECT_TRUE(has_all());
  EXPECT_EQ(sent_, text_.size() + 600'007);
  sent_ = 0;
  fetch();
  serve();
  ASSERT_TRUE(outcome_);
  EXPECT_EQ(sent_, text_.size()) << "the list alone";
}

TEST_F(ShipFetcherTest, GoesOnOverTheNextConnectionWhereverOneEnds) {
  for (std::size_t after = 0; after < 6; ++after) {
    std::filesystem::remove_all(folder_.path() / "ships");
    ShipFetcher fresh{{.store = {.directory = folder_.path() / "ships"}}};
    std::optional<ShipFetcher::Fetched> outcome;
    fresh.begin();
    fresh.fetch({kJob, 1000, ship_}, [&](ShipFetcher::Fetched done) { outcome = std::move(done); });
    fresh.look(now_);
    const auto play = [&](std::size_t most) {
      for (; most > 0; --most) {
        const auto line = fresh.next();
        if (!line) return;
        const auto read = decode_node_line(std::string_view(*line).substr(0, line->size() - 1));
        const auto& wanted = std::get<ShipWanted>(*read);
        const auto& whole = served_.at(wanted.sha256);
        const auto bytes = whole.substr(wanted.from, kPieceBytesMax);
        fresh.take(ShipPart{wanted.job, wanted.sha256, wanted.from,
                            static_cast<std::uint32_t>(bytes.size()), whole.size()},
                   bytes, now_);
      }
    };
    play(after);
    static_cast<void>(fresh.next());  // an answer that never comes
    fresh.begin();
    fresh.look(now_);
    play(100);
    ASSERT_TRUE(outcome) << after;
    EXPECT_TRUE(*outcome) << after;
    EXPECT_TRUE(has_all()) << after;
  }
}

TEST_F(ShipFetcherTest, NotMoreIsOnItsWayThanMay) {
  served_.clear();
  manifest_.files.clear();
  for (int i = 0; i < 40; ++i) {
    const std::string text(300'000, static_cast<char>('A' + i));
    manifest_.files.push_back(
        {std::string(1, static_cast<char>('A' + i)), 0644, text.size(), to_hex(sha256(text))});
    served_[to_hex(sha256(text))] = text;
  }
  ASSERT_TRUE(tidy_manifest(manifest_));
  text_ = to_text(manifest_);
  ship_ = ship_name(text_);
  served_[ship_] = text_;
  fetch();
  serve(1);
  std::size_t wants = 0;
  while (fetcher_.next()) ++wants;
  EXPECT_LE(wants, kShipWantsMax);
  EXPECT_LE(wants * 150'000, kShipAskedMax + kPieceBytesMax);
  EXPECT_GT(wants, 8U);
}

TEST_F(ShipFetcherTest, WhatIsAskedForTwiceForAJobComesTwiceOneAfterTheOther) {
  int came = 0;
  const auto ask = [&] {
    fetcher_.fetch({kJob, 1000, ship_}, [&](const ShipFetcher::Fetched& done) {
      if (done) ++came;
    });
    fetcher_.look(now_);
  };
  ask();
  const auto line = fetcher_.next();
  ASSERT_TRUE(line);
  ask();
  answer(*line);
  serve();
  EXPECT_EQ(came, 1);
  serve();
  EXPECT_EQ(came, 2);
}

TEST_F(ShipFetcherTest, JobsOfOneUserBringTheSameFilesAtATime) {
  constexpr int kJobs = 4;
  const std::string large(10 * kPieceBytesMax, 'l');
  manifest_.files.push_back({"e.bin", 0644, large.size(), to_hex(sha256(large))});
  served_[to_hex(sha256(large))] = large;
  ASSERT_TRUE(tidy_manifest(manifest_));
  text_ = to_text(manifest_);
  ship_ = ship_name(text_);
  served_[ship_] = text_;
  std::vector<ShipFetcher::Fetched> outcomes;
  for (std::uint32_t job = 1; job <= kJobs; ++job)
    fetcher_.fetch({JobId{job}, 1000, ship_},
                   [&](ShipFetcher::Fetched done) { outcomes.push_back(std::move(done)); });
  fetcher_.look(now_);
  std::vector<std::string> asked;  // before the first of them is answered
  do {
    asked.clear();
    while (auto line = fetcher_.next()) asked.push_back(std::move(*line));
    for (const auto& line : asked) answer(line);
  } while (!asked.empty());
  ASSERT_EQ(outcomes.size(), std::size_t{kJobs});
  for (const auto& done : outcomes) EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(has_all());
}

TEST_F(ShipFetcherTest, WhatTheServerLacksIsItsSentence) {
  fetch();
  static_cast<void>(fetcher_.next());
  fetcher_.take(NoShipPart{kJob, ship_, "It is not there any more.", "Submit the job again."},
                now_);
  ASSERT_TRUE(outcome_);
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().code, ErrorCode::not_found);
  EXPECT_EQ(outcome_->error().message, "It is not there any more.");
}

TEST_F(ShipFetcherTest, ADamagedFileIsToldAndNotKept) {
  served_[to_hex(sha256("print()"))] = "damage!";
  fetch();
  serve();
  ASSERT_TRUE(outcome_);
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().code, ErrorCode::data);
  serve();
  EXPECT_EQ(damaged_, 1);
  EXPECT_FALSE(has_all());
}

// As after a loss of power.
TEST_F(ShipFetcherTest, AFileThatIsShorterThanItsManifestSaysIsDamaged) {
  const std::string whole(600'000, 'b');
  for (const std::size_t left : {0U, 100U, 300'000U, 599'999U}) {
    damaged_ = 0;
    served_[to_hex(sha256(whole))] = whole.substr(0, left);
    fetch();
    serve();
    ASSERT_TRUE(outcome_) << left;
    ASSERT_FALSE(*outcome_) << left;
    EXPECT_EQ(outcome_->error().code, ErrorCode::data) << left;
    EXPECT_EQ(outcome_->error().hint, "Submit the job again.");
    serve();
    EXPECT_EQ(damaged_, 1) << left;
  }
  served_[to_hex(sha256(whole))] = whole;
  fetch();
  serve();
  ASSERT_TRUE(outcome_);
  EXPECT_TRUE(*outcome_);
}

TEST_F(ShipFetcherTest, APieceThatIsShorterThanWasAskedForIsOfADamagedFile) {
  const auto digest = to_hex(sha256(std::string(600'000, 'b')));
  fetch();
  serve(1);
  fetcher_.take(ShipPart{kJob, digest, 0, 5, 600'000}, "bbbbb", now_);
  ASSERT_TRUE(outcome_);
  EXPECT_EQ(outcome_->error().code, ErrorCode::data);
}

TEST_F(ShipFetcherTest, AListThatIsNotTheShipsIsNotBelieved) {
  served_[ship_] = R"({"files":[],"links":[],"directories":["x"]})";
  fetch();
  serve();
  ASSERT_TRUE(outcome_);
  EXPECT_EQ(outcome_->error().code, ErrorCode::data);
}

TEST_F(ShipFetcherTest, GivesUpWhatDoesNotCome) {
  fetch();
  fetcher_.look(now_ + 59s);
  EXPECT_FALSE(outcome_);
  fetcher_.look(now_ + 61s);
  ASSERT_TRUE(outcome_);
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().retry, Retry::may_help);
  EXPECT_THAT(outcome_->error().message, HasSubstr("doesn't come from the server"));
}

TEST_F(ShipFetcherTest, AStrangersAnswerIsNobodys) {
  fetch();
  fetcher_.take(ShipPart{JobId{8}, ship_, 0, 1, 1}, "x", now_);
  fetcher_.take(ShipPart{kJob, std::string(64, 'a'), 0, 1, 1}, "x", now_);
  serve();
  ASSERT_TRUE(outcome_);
  EXPECT_TRUE(*outcome_);
}

}  // namespace
}  // namespace paceline
