#include "scheduler/admission.hpp"

#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

// Root keeps the server.
Principal person(std::uint32_t uid) {
  return {.uid = uid, .roles = {uid == 0 ? Role::admin : Role::user}};
}

class AdmissionTest : public ::testing::Test {
 protected:
  static Limits limits() {
    Limits limits;
    limits.waiting_jobs = 5;
    limits.waiting_jobs_per_user = 3;
    limits.launches_per_user = 1000;
    return limits;
  }
  static LaunchSpec launch(std::size_t bytes) {
    LaunchSpec launch;
    launch.command = {std::string(bytes - 2, 'x')};
    launch.directory = "/";
    return launch;
  }
  Result<void> admit(std::uint32_t uid, std::size_t bytes = 10) {
    return admission.admit(world.state(), store, person(uid), uid, launch(bytes));
  }
  void take(std::uint32_t uid, std::size_t bytes = 10) {
    ASSERT_TRUE(admit(uid, bytes).has_value());
    admission.took(JobId{++last}, uid, launch(bytes));
  }

  World world{"1x1 cpu"};
  MemoryStore store;
  Admission admission{limits()};
  std::uint32_t last = 0;
};

TEST_F(AdmissionTest, BoundsWhatMayWaitOfOneUser) {
  for (int i = 0; i < 3; ++i) take(1);
  const auto refused = admit(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().hint.find("waiting-jobs-per-user"), std::string::npos);
  EXPECT_TRUE(admit(2).has_value());
}

TEST_F(AdmissionTest, BoundsWhatMayWaitOfAllAndAKeeperByThatAlone) {
  for (int i = 0; i < 5; ++i) take(0);
  EXPECT_FALSE(admit(2).has_value());
  EXPECT_EQ(admit(0).error().message, "5 jobs wait already, the most that may.");
}

TEST_F(AdmissionTest, KeepsTheLastPlaceOfFewForAKeeper) {
  for (const std::uint32_t uid : {1U, 1U, 2U, 2U}) take(uid);
  const auto refused = admit(3);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "4 jobs wait already, the most that users' may: room for 1 more is kept for root's.");
  take(0);
}

TEST(Admission, KeepsTheLastTwentiethOfManyForAKeeper) {
  const World world{"1x1 cpu"};
  MemoryStore store;
  Limits limits;
  limits.waiting_jobs = 60;
  Admission admission{limits};
  const auto admits = [&](std::uint32_t uid) {
    return admission.admit(world.state(), store, person(uid), uid, {}).has_value();
  };
  std::uint32_t last = 0;
  for (; admits(1); admission.took(JobId{++last}, 1, {})) ASSERT_LT(last, 57U);
  EXPECT_EQ(last, 57U);
  for (; admits(0); admission.took(JobId{++last}, 0, {})) ASSERT_LT(last, 60U);
  EXPECT_EQ(last, 60U);
}

TEST(Admission, KeepsNoPlaceWhereThereIsOne) {
  const World world{"1x1 cpu"};
  MemoryStore store;
  Limits limits;
  limits.waiting_jobs = 1;
  EXPECT_TRUE(Admission(limits).admit(world.state(), store, person(1), 1, {}).has_value());
}

TEST(Admission, BoundsTheLogsThatAJobAsksFor) {
  Limits limits;
  limits.logs_per_job = 4U << 20;
  const Admission admission{limits};
  JobSpec spec;
  for (const std::uint64_t bytes : {0U, 1U << 20, 4U << 20}) {
    spec.log_limit_bytes = bytes;
    EXPECT_TRUE(admission.admit_limits(spec).has_value()) << bytes;
  }
  spec.log_limit_bytes = 5U << 20;
  const auto refused = admission.admit_limits(spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid);
  EXPECT_EQ(refused.error().message, "Logs of 5M are more than the 4M that one job may have here.");
}

TEST_F(AdmissionTest, BoundsWhatStartsTheJobsOfAUser) {
  take(1, 600);
  EXPECT_TRUE(admit(1, 400).has_value());
  EXPECT_FALSE(admit(1, 401).has_value());
  EXPECT_TRUE(admit(0, 5000).has_value());
}

TEST_F(AdmissionTest, ForgetsABatchThatWasRefused) {
  for (int i = 0; i < 3; ++i) take(1, 300);
  admission.drop_from(JobId{1});
  last = 0;
  for (int i = 0; i < 3; ++i) take(1, 300);
}

TEST_F(AdmissionTest, FollowsTheState) {
  const JobId running = world.run("1..1", 1);
  const JobId waiting = world.submit("1..1");
  const auto uid = world.job(waiting).spec->uid;
  ASSERT_NE(uid, 0U);
  last = waiting.value;
  admission.follow(world.state(), std::vector{running, waiting});
  for (int i = 0; i < 2; ++i) take(uid);
  EXPECT_FALSE(admit(uid).has_value());
  world.tell(JobRequested{waiting, Request::cancel, account(uid)});
  admission.follow(world.state(), std::vector{waiting});
  EXPECT_TRUE(admit(uid).has_value());
}

TEST_F(AdmissionTest, CountsWhatWasThereBeforeUntilItIsForgotten) {
  const JobId job = world.submit("1..1");
  const auto uid = world.job(job).spec->uid;
  Batch batch;
  batch.launches.emplace_back(job, launch(900));
  ASSERT_TRUE(store.append(batch).has_value());
  admission.follow(world.state(), std::vector{job});
  EXPECT_FALSE(admit(uid, 200).has_value());
  world.tell(JobRequested{job, Request::cancel, account(uid)});
  admission.follow(world.state(), std::vector{job});
  EXPECT_FALSE(admit(uid, 200).has_value()) << "it is still stored";
  admission.forget_launches(world.state(), std::vector{job});
  EXPECT_TRUE(admit(uid, 200).has_value());
}

}  // namespace
}  // namespace paceline
