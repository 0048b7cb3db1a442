#include "scheduler/busy_cluster.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "placement/pack.hpp"
#include "plan/check.hpp"
#include "plan/decide.hpp"
#include "policy/registry.hpp"
#include "support/literals.hpp"
#include "support/print.hpp"

namespace paceline {
namespace {

using ::testing::IsEmpty;
using testing::span;

class BusyClusterTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kStarter = "elastic-fifo";
  PolicyRegistry policies_;
  PackPlacer placer_;
  Time now_{span("5h")};
  BusyCluster busy_{placer_, kStarter, **policies_.make(std::string(kStarter), {}), now_};
  const State& state_ = busy_.snapshot().state;
};

TEST_F(BusyClusterTest, HasJobsOfEveryKind) {
  EXPECT_THAT(check_state(state_), IsEmpty());
  EXPECT_EQ(busy_.snapshot().now, now_);
  std::set<std::string> users;
  std::multiset<JobState> states;
  int saved = 0, reported = 0;
  for (const Job& job : state_.jobs()) {
    users.insert(job.spec->user);
    states.insert(job.state);
    saved += job.checkpoint ? 1 : 0;
    reported += job.progress && job.progress->step ? 1 : 0;
  }
  EXPECT_EQ(users.size(), 3U);
  EXPECT_GE(states.count(JobState::running), 2U);
  EXPECT_EQ(states.count(JobState::paused), 1U);
  EXPECT_EQ(states.count(JobState::pending), 3U);
  EXPECT_EQ(saved, 1);
  EXPECT_EQ(reported, 1);
}

TEST_F(BusyClusterTest, IsOneThatEveryPolicyOfOursCanDecideFor) {
  for (const auto& info : policies_.all()) {
    const auto policy = policies_.make(std::string(info.name), {});
    Draft draft(busy_.snapshot(), placer_, Protects::yes);
    const auto plan = decide(draft, decider(**policy));
    EXPECT_TRUE(plan) << info.name << ": " << plan.error().message;
  }
}

}  // namespace
}  // namespace paceline
