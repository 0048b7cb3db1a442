#include "scheduler/upkeep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "plan/apply.hpp"
#include "store/history_testing.hpp"
#include "store/memory/memory_store.hpp"
#include "store/wrapped_store.hpp"

namespace paceline {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kKeep = hours{24 * 90};

// Counts its pieces, and has as many of tidying as it is told.
class CountingStore final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<bool> tidy(const JournalBounds&) override {
    ++tidied;
    return tidied < pieces;
  }
  Result<bool> thin(JobId job) override {
    if (error) return fail(*error);
    thinned.push_back(job.value);
    return WrappedStore::thin(job);
  }
  Result<bool> drop(JobId job, Time now) override {
    dropped.push_back(job.value);
    return WrappedStore::drop(job, now);
  }

  int tidied = 0, pieces = 1;
  std::vector<std::uint32_t> thinned, dropped;
  std::optional<Error> error;
};

class UpkeepTest : public ::testing::Test {
 protected:
  // `count` jobs that ended then and are forgotten.
  void forgotten_jobs(std::uint32_t count) {
    ASSERT_TRUE(memory_.append({submissions(count), {}, {}, {}}));
    state_ = memory_.load().value();
    std::vector<JobId> all;
    for (std::uint32_t id = 1; id <= count; ++id) all.push_back(JobId{id});
    ASSERT_TRUE(end_jobs(memory_, state_, all));
    Batch batch;
    for (const Job& job : state_.jobs()) batch.forgotten.push_back(job);
    batch.entries.push_back({state_.seq() + 1, state_.at(), JobsForgotten{all}});
    apply(state_, batch.entries.back());
    ASSERT_TRUE(memory_.append(batch));
    ended_ = batch.forgotten.back().ended_at.value();
  }
  // Everything that is due until then.
  void run(Upkeep& upkeep, Time until) {
    while (upkeep.next() && *upkeep.next() <= until) {
      now_ = std::max(now_, *upkeep.next());
      upkeep.step(state_, now_);
    }
    now_ = std::max(now_, until);
  }
  Upkeep::Options keeping() {
    return {.journal = {}, .keep = kKeep, .remove_logs = [this](JobId job) -> Result<bool> {
              if (log_error_) return fail(*log_error_);
              return ++removals_[job.value] >= removal_pieces_;
            }};
  }

  MemoryStore memory_;
  CountingStore store_{memory_};
  State state_;
  Time ended_, now_;
  std::map<std::uint32_t, int> removals_;
  int removal_pieces_ = 1;
  std::optional<Error> log_error_;
};

TEST_F(UpkeepTest, ThinsAJobAfterTheSpanAndDropsItAfterTwice) {
  forgotten_jobs(2);
  Upkeep upkeep(store_, keeping());
  upkeep.forgot(ended_);
  run(upkeep, ended_ + kKeep - hours{1});
  EXPECT_THAT(store_.thinned, IsEmpty());
  run(upkeep, ended_ + kKeep + hours{1});
  EXPECT_THAT(store_.thinned, ElementsAre(1, 2));
  EXPECT_THAT(store_.dropped, IsEmpty());
  EXPECT_TRUE(removals_.empty());
  run(upkeep, ended_ + 2 * kKeep - hours{1});
  EXPECT_THAT(store_.dropped, IsEmpty());
  run(upkeep, ended_ + 2 * kKeep + hours{1});
  EXPECT_THAT(store_.dropped, ElementsAre(1, 2));
  EXPECT_EQ(upkeep.drops(), 2U);
  EXPECT_EQ(upkeep.next(), std::nullopt);
  EXPECT_EQ(memory_.remains(JobId{1}).value()->kept, Kept::nothing);
}

TEST_F(UpkeepTest, KeepsEverythingWhereNothingIsSaid) {
  forgotten_jobs(2);
  Upkeep upkeep(store_, {});
  upkeep.forgot(ended_);
  EXPECT_EQ(upkeep.next(), std::nullopt);
  upkeep.step(state_, ended_ + 10 * kKeep);
  EXPECT_THAT(store_.thinned, IsEmpty());
}

TEST_F(UpkeepTest, LeavesJobsThatTheStateKnows) {
  ASSERT_TRUE(memory_.append({submissions(2), {}, {}, {}}));
  state_ = memory_.load().value();
  Upkeep upkeep(store_, keeping());
  upkeep.forgot(state_.at());
  run(upkeep, state_.at() + 10 * kKeep);
  EXPECT_THAT(store_.thinned, IsEmpty());
  EXPECT_TRUE(removals_.empty());
}

TEST_F(UpkeepTest, DropsNoJobBeforeItsLogsAreGone) {
  forgotten_jobs(1);
  removal_pieces_ = 5;
  Upkeep upkeep(store_, keeping());
  upkeep.forgot(ended_);
  run(upkeep, ended_ + 2 * kKeep);
  EXPECT_THAT(store_.dropped, IsEmpty());
  EXPECT_EQ(removals_[1], 1);
  run(upkeep, now_ + 3 * Upkeep::kPause);
  EXPECT_EQ(removals_[1], 4);
  Upkeep next(store_, keeping());  // after a crash
  next.forgot(now_);
  run(next, now_ + hours{1});
  EXPECT_EQ(removals_[1], 5);
  EXPECT_THAT(store_.dropped, ElementsAre(1));
}

TEST_F(UpkeepTest, DoesOnePieceAtATime) {
  forgotten_jobs(3);
  store_.pieces = 4;
  Upkeep upkeep(store_, keeping());
  upkeep.forgot(ended_);
  upkeep.checkpointed(ended_);
  const Time late = ended_ + kKeep;
  for (std::size_t done = 0; done < 3; ++done) {
    upkeep.step(state_, late + static_cast<int>(done) * Upkeep::kPause);
    EXPECT_EQ(store_.thinned.size() + static_cast<std::size_t>(store_.tidied), done + 1);
  }
  run(upkeep, late + hours{1});
  EXPECT_EQ(store_.tidied, 4);
  EXPECT_THAT(store_.thinned, ElementsAre(1, 2, 3));
}

TEST_F(UpkeepTest, TriesAgainLaterWhereTheDiskRefuses) {
  forgotten_jobs(1);
  store_.error = Error{ErrorCode::storage, "The disk is full.", "", Retry::may_help};
  Upkeep upkeep(store_, keeping());
  upkeep.forgot(ended_);
  run(upkeep, ended_ + kKeep);
  EXPECT_EQ(upkeep.next(), ended_ + kKeep + Upkeep::kRetry);
  store_.error.reset();
  log_error_ = Error{ErrorCode::storage, "The logs can't be removed.", "", Retry::may_help};
  run(upkeep, ended_ + 2 * kKeep);
  EXPECT_EQ(upkeep.next(), ended_ + 2 * kKeep + Upkeep::kRetry);
  log_error_.reset();
  run(upkeep, ended_ + 3 * kKeep);
  EXPECT_THAT(store_.dropped, ElementsAre(1));
}

TEST_F(UpkeepTest, TidiesAfterACheckpointUntilThereIsNothingMore) {
  store_.pieces = 3;
  Upkeep upkeep(store_, {});
  EXPECT_EQ(upkeep.next(), std::nullopt);
  upkeep.checkpointed(now_);
  run(upkeep, now_ + hours{1});
  EXPECT_EQ(store_.tidied, 3);
  EXPECT_EQ(upkeep.next(), std::nullopt);
}

}  // namespace
}  // namespace paceline
