// How jobs end: the cause decides, not the exit code alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/apply.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using testing::span;
using testing::World;

TEST(Ending, OfAGangIsCompletedOnceAllExitedWithZero) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.ended(a, 0, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.state().slots_leased(), 1);
  world.ended(a, 1, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::completed);
  EXPECT_EQ(world.job(a).ending->exit_code, 0);
  EXPECT_EQ(world.job(a).ended_at, world.now());
  EXPECT_EQ(world.state().slots_leased(), 0);
}

TEST(Ending, OfOneWorkerStopsTheOthersAndTheFirstFailureInTimeDecides) {
  World world("1x4 cpu");
  const JobId a = world.run("3..3", 3);
  world.ended(a, 1, ending("3"));
  ASSERT_EQ(world.job(a).state, JobState::stopping);
  EXPECT_EQ(world.job(a).current->stop->cause, Cause::gang_failed);
  EXPECT_EQ(world.job(a).current->stop->grace, kGangFailureGrace);
  world.advance(span("5s"));
  world.killed(a, 0);
  world.ended(a, 2, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->exit_code, 3);
}

TEST(Ending, GivesSurvivorsNoLongerThanTheJobsOwnGrace) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2 grace=2s", 2);
  world.ended(a, 0, ending("1"));
  EXPECT_EQ(world.job(a).current->stop->grace, span("2s"));
}

TEST(Ending, ByOutOfMemoryIsFailedForThatReasonWhicheverWorkerFailedFirst) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.ended(a, 0, ending("1"));  // lost its peer
  world.advance(span("1s"));
  world.ended(a, 1, ending("out_of_memory"));
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->cause, Cause::out_of_memory);
}

TEST(Ending, With75Or99RequeuesWithoutSpendingARetry) {
  for (const auto* code : {"75", "99"}) {
    World world("1x4 cpu");
    const JobId a = world.run("2..2 grace=60s", 2);
    world.advance(span("40s"));
    world.ended(a, 1, ending(code));
    ASSERT_EQ(world.job(a).state, JobState::stopping);
    EXPECT_EQ(world.job(a).current->stop->cause, Cause::requeue_asked);
    EXPECT_EQ(world.job(a).current->stop->grace, span("60s"));
    world.killed(a);
    EXPECT_EQ(world.job(a).state, JobState::pending);
    EXPECT_EQ(world.job(a).retries_used, 0);
    EXPECT_EQ(world.job(a).eligible_at, world.now());
  }
}

// Scripts that ask for a requeue at any notice do so too when a peer has failed: that is no wish of
// theirs.
TEST(Ending, With75AfterAPeerFailedIsStillTheFailure) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.ended(a, 1, ending("3"));
  world.advance(span("1s"));
  world.ended(a, 0, ending("75"));
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->exit_code, 3);
}

TEST(Ending, With75RequeuesThoughAPeerThatFailedWasHeardOfFirst) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.ended(a, 1, ending("1"));  // lost its peer, which left with 75 at this moment
  world.ended(a, 0, ending("75"));
  EXPECT_EQ(world.job(a).state, JobState::pending);
}

TEST(Ending, ByOurKillOnANodeWithASlowClockIsNotTheFirstFailure) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.ended(a, 1, ending("3"));
  world.advance(-span("10s"));
  world.killed(a, 0);
  EXPECT_EQ(world.job(a).ending->exit_code, 3);
}

TEST(Ending, AskingForARequeueAgainAndAgainAtOnceIsACrashLoop) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1");
  for (int i = 1; i <= kQuickFailuresMax; ++i) {
    world.start(a, 1);
    world.started(a);
    world.ended(a, ending("75"));
    world.advance(span("10m"));
  }
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->cause, Cause::crash_loop);
}

TEST(Ending, WithZeroAfterANoticeIsDoneUnlessACheckpointWasAcknowledgedSince) {
  for (const bool saves : {false, true}) {
    World world("1x4 cpu");
    const JobId a = world.run("4..4", 4);
    world.checkpoint(a);  // before the notice: does not count
    world.advance(span("1s"));
    world.preempt(a, world.submit("1..1"), 1);
    world.advance(span("1s"));
    if (saves) world.checkpoint(a);
    world.ended(a, ending("0"));
    EXPECT_EQ(world.job(a).state, saves ? JobState::pending : JobState::completed);
  }
}

TEST(Ending, WithZeroAfterTheTargetWasReachedIsDoneWhateverWasSaved) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4 target=accuracy>=0.9", 4);
  Progress good;
  good.metrics = {{"accuracy", 0.9}};
  world.report(a, good);
  world.preempt(a, world.submit("1..1"), 1);
  world.checkpoint(a);
  world.ended(a, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::completed);
}

TEST(Ending, KilledAfterAPreemptionWaitsAgainAndKeepsItsPlace) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4 retry=0", 4);
  world.advance(span("1s"));
  const JobId b = world.submit("4..4");
  world.preempt(a, b, 4);
  const JobId c = world.submit("4..4");
  world.ended(a, ending("signal 15"));
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_EQ(world.job(a).preemptions, 1);
  EXPECT_EQ(world.job(a).retries_used, 0);
  std::vector<JobId> order;
  for (const auto& key : world.state().waiting()) order.push_back(key.job);
  EXPECT_THAT(order, ElementsAre(a, c));
}

TEST(Ending, ByALostNodeRequeuesWithoutSpendingARetryEvenIfPeersFailedFirst) {
  World world("2x2 cpu");
  const JobId b = world.run("4..4", 4);
  world.advance(span("1m"));
  world.ended(b, 0,
              ending("1"));  // its peer's socket broke before anybody knew that the node is gone
  world.node_lost("cpu-1");
  world.killed(b);
  EXPECT_EQ(world.job(b).state, JobState::pending);
  EXPECT_EQ(world.job(b).retries_used, 0);
  EXPECT_EQ(world.job(b).eligible_at, world.now());
}

// A script that takes its own supervisor away is not started again as fast as the machine can.
TEST(Ending, ByANodeLostRightAfterTheStartWaitsAMoment) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.ended(a, ending("node_lost"));
  EXPECT_EQ(world.job(a).eligible_at, world.now() + kBackoffFirst);
}

TEST(Ending, ByAMachineThatRefusesCostsNoRetryWhateverItsPeersDo) {
  World world("2x2 cpu");
  for (const auto* retries : {"retry=0", "retry=3"}) {
    const JobId a = world.run(std::string("2..2 ") + retries, 2);
    world.ended(a, 0, ending("refused"));
    world.ended(a, 1, ending("1"));  // its rendezvous never came about
    EXPECT_EQ(world.job(a).state, JobState::pending);
    EXPECT_EQ(world.job(a).retries_used, 0);
  }
}

TEST(Ending, ByMachinesThatRefuseAgainAndAgainWaitsTwiceAsLongEachTimeUpToABound) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1");
  std::vector<std::int64_t> seconds;
  for (int i = 0; i < 8; ++i) {
    world.start(a, 1);
    Ending no = ending("refused");
    no.message = "no space is left";
    world.ended(a, 0, no);
    EXPECT_EQ(world.job(a).refused, (RefusedStart{i + 1, "no space is left"}));
    seconds.push_back((world.job(a).eligible_at - world.now()).count() / 1'000'000);
    world.advance(kBackoffMax);
  }
  EXPECT_THAT(seconds, ElementsAre(1, 2, 4, 8, 16, 32, 60, 60));
  world.start(a, 1);
  world.ended(a, 0, ending("node_lost"));
  EXPECT_EQ(world.job(a).refused->times, 8) << "no machine refused that";
  EXPECT_EQ(world.job(a).eligible_at, world.now() + kBackoffFirst);
  world.advance(kBackoffFirst);
  world.start(a, 1);
  world.started(a);
  EXPECT_EQ(world.job(a).refused, std::nullopt) << "it runs";
}

TEST(Ending, ByMachinesThatRefuseWaitsAMomentUnderTheFirstRules) {
  World world("1x4 cpu");
  world.fold_by(kFirstFoldRules);
  const JobId a = world.submit("1..1");
  for (int i = 0; i < 3; ++i) {
    world.start(a, 1);
    world.ended(a, 0, ending("refused"));
    EXPECT_EQ(world.job(a).eligible_at, world.now() + kBackoffFirst);
    world.advance(kBackoffFirst);
  }
}

TEST(Ending, ByWhatIsMissingThereFailsAtOnceWhateverRetriesAreLeft) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2 retry=3", 2);
  world.ended(a, 0, ending("missing"));
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  world.killed(a, 1);
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->cause, Cause::missing);
  EXPECT_EQ(world.job(a).retries_used, 0);
  EXPECT_EQ(world.state().slots_leased(), 0);
}

TEST(Retries, BackOffTwiceAsLongEachTimeUpToABound) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1 retry=12");
  std::vector<std::int64_t> seconds;
  for (int i = 0; i < 12; ++i) {
    world.start(a, 1);
    world.started(a);
    world.advance(kQuickFailure);
    world.ended(a, ending("1"));
    seconds.push_back((world.job(a).eligible_at - world.now()).count() / 1'000'000);
    world.advance(kBackoffMax);
  }
  EXPECT_THAT(seconds, ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300));
  EXPECT_EQ(world.job(a).retries_used, 12);
  world.start(a, 1);
  world.ended(a, ending("1"));
  EXPECT_EQ(world.job(a).state, JobState::failed);
}

TEST(Retries, AreNotStartedBeforeTheirTime) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.run("1..1 retry=1", 1);
  world.ended(a, ending("1"));
  EXPECT_TRUE(world.round().changes.empty());
  world.advance(kBackoffFirst);
  EXPECT_EQ(world.round().changes.size(), 1U);
}

TEST(Retries, EndInACrashLoopWhenEveryRunIsShortAndWithoutProgress) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1 retry=100");
  for (int i = 1; i <= kQuickFailuresMax; ++i) {
    ASSERT_EQ(world.job(a).state, JobState::pending) << i;
    world.start(a, 1);
    world.started(a);
    world.ended(a, ending("7"));
    world.advance(kBackoffMax);
  }
  EXPECT_EQ(world.job(a).state, JobState::failed);
  EXPECT_EQ(world.job(a).ending->cause, Cause::crash_loop);
  EXPECT_EQ(world.job(a).ending->exit_code, 7);
  EXPECT_EQ(world.job(a).ending->message,
            "failed 5 times in a row within 30 s of its start, without progress");
}

TEST(Retries, CountAgainFromACheckpoint) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1 retry=100");
  for (int i = 1; i <= 3 * kQuickFailuresMax; ++i) {
    world.start(a, 1);
    world.started(a);
    if (i % 3 == 0) world.checkpoint(a);
    world.ended(a, ending("7"));
    world.advance(kBackoffMax);
  }
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_EQ(world.job(a).retries_used, 3 * kQuickFailuresMax);
}

// A gang that is lost counts neither way; what it saved does.
TEST(Retries, CountAgainFromACheckpointOfAGangThatWasLost) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1 retry=100");
  const auto run = [&] {
    world.start(a, 1);
    world.started(a);
  };
  const auto fail = [&] {
    run();
    world.ended(a, ending("7"));
    world.advance(kBackoffMax);
  };
  for (int i = 1; i < kQuickFailuresMax; ++i) fail();
  run();
  world.checkpoint(a);
  world.node_lost("cpu-0");
  world.node_up("cpu-0");
  world.advance(kBackoffMax);
  fail();
  EXPECT_EQ(world.job(a).state, JobState::pending);
}

TEST(Dependants, StartOnceAllTheirJobsAreCompleted) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.run("1..1", 1);
  const JobId b = world.run("1..1", 1);
  const JobId c = world.submit("1..1 after=1,2");
  EXPECT_TRUE(world.round().changes.empty());
  world.ended(a);
  EXPECT_TRUE(world.round().changes.empty());
  world.ended(b);
  EXPECT_THAT(world.touched(), ElementsAre(b, c));
  EXPECT_EQ(world.round().changes.size(), 1U);
  EXPECT_THAT(world.state().dependants(a), ElementsAre());
}

TEST(Dependants, AreCancelledAlongTheWholeChainIfOneDidNotComplete) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  const JobId b = world.submit("1..1 after=1");
  const JobId c = world.submit("1..1 after=2");
  const JobId other = world.submit("1..1");
  const JobId d = world.submit("1..1 after=3,4");
  world.ended(a, ending("1"));
  for (const JobId id : {b, c, d}) {
    EXPECT_EQ(world.job(id).state, JobState::cancelled);
    EXPECT_EQ(world.job(id).ending->cause, Cause::dependency_failed);
  }
  EXPECT_EQ(world.job(c).ending->message, "job 2 did not complete");
  EXPECT_EQ(world.job(other).state, JobState::pending);
  EXPECT_THAT(world.state().dependants(other), ElementsAre());
}

TEST(Dependants, OfAJobThatIsOverAlreadyAreJudgedAtOnce) {
  World world("1x4 cpu");
  const JobId good = world.run("1..1", 1);
  world.ended(good);
  const JobId bad = world.run("1..1", 1);
  world.ended(bad, ending("1"));
  EXPECT_EQ(world.job(world.submit("1..1 after=1")).state, JobState::pending);
  EXPECT_EQ(world.state().waiting().size(), 1U);
  EXPECT_EQ(world.job(world.submit("1..1 after=1,2")).state, JobState::cancelled);
}

// A chain longer than any stack is deep.
TEST(Dependants, AreCancelledAlongAVeryLongChain) {
  constexpr std::uint32_t kLength = 200'000;
  State state;
  std::uint64_t seq = 0;
  for (std::uint32_t i = 1; i <= kLength; ++i) {
    JobSpec spec = testing::job("1..1");
    if (i > 1) spec.after = {JobId{i - 1}};
    apply(state, {++seq, {}, JobSubmitted{JobId{i}, std::move(spec)}});
  }
  const auto touched = apply(state, {++seq, {}, JobRequested{JobId{1}, Request::cancel, {}}});
  EXPECT_EQ(touched.size(), kLength);
  EXPECT_EQ(state.job(JobId{kLength}).state, JobState::cancelled);
  EXPECT_TRUE(state.queue().empty());
}

}  // namespace
}  // namespace paceline
