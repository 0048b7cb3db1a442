#include "model/job_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace paceline {
namespace {

using ::testing::ElementsAre;

TEST(JobState, HasTheNamesOfTheApi) {
  std::vector<std::string> names;
  for (const auto state : kJobStates) names.emplace_back(to_string(state));
  EXPECT_THAT(names, ElementsAre("PENDING", "STARTING", "RUNNING", "RESIZING", "PAUSED", "STOPPING",
                                 "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"));
  for (const auto state : kJobStates) EXPECT_EQ(parse_job_state(to_string(state)), state);
  EXPECT_EQ(parse_job_state("running"), std::nullopt);
}

TEST(JobState, IsOverInFourStatesThatNothingFollows) {
  std::vector<JobState> over;
  for (const auto from : kJobStates) {
    if (is_over(from)) over.push_back(from);
    bool goes_on = false;
    for (const auto to : kJobStates) goes_on = goes_on || may_follow(from, to);
    EXPECT_EQ(goes_on, !is_over(from)) << to_string(from);
  }
  EXPECT_THAT(over, ElementsAre(JobState::completed, JobState::failed, JobState::cancelled,
                                JobState::timeout));
}

TEST(Transitions, AreEachOnceAndSayWhen) {
  std::set<std::pair<JobState, JobState>> seen;
  for (const auto& t : transitions()) {
    EXPECT_TRUE(seen.emplace(t.from, t.to).second)
        << to_string(t.from) << " to " << to_string(t.to);
    EXPECT_NE(t.from, t.to);
    EXPECT_FALSE(t.when.empty());
  }
  for (const auto from : kJobStates) {
    for (const auto to : kJobStates) EXPECT_EQ(may_follow(from, to), seen.contains({from, to}));
  }
}

// A job that is not over can be brought to an end from wherever it is, by its owner too.
TEST(Transitions, LeadFromEveryStateToCancelled) {
  for (const auto from : kJobStates) {
    if (is_over(from)) continue;
    const bool at_once = may_follow(from, JobState::cancelled);
    const bool by_stopping =
        may_follow(from, JobState::stopping) && may_follow(JobState::stopping, JobState::cancelled);
    EXPECT_TRUE(at_once || by_stopping) << to_string(from);
  }
}

TEST(Transitions, LeadFromPendingToEveryState) {
  std::set<JobState> reached{JobState::pending};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& t : transitions()) {
      if (reached.contains(t.from)) reached.insert(t.to);
    }
  }
  EXPECT_EQ(reached.size(), kJobStates.size());
}

TEST(Cause, IsReadAsItIsWritten) {
  for (const auto* text : {"exited", "signalled", "out_of_memory", "launch_failed", "setup_failed",
                           "preempted", "resized", "cancelled", "timed_out", "gang_failed",
                           "node_lost", "requeue_asked", "dependency_failed", "crash_loop"}) {
    const auto cause = parse_cause(text);
    ASSERT_TRUE(cause) << text;
    EXPECT_EQ(to_string(*cause), text);
  }
  EXPECT_EQ(parse_cause("bad luck"), std::nullopt);
}

}  // namespace
}  // namespace paceline
