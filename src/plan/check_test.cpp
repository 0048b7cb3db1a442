// Every violation is found: a valid plan is spoilt in one way at a time.
#include "plan/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::World;

const Reason kBecause{ReasonCode::script, {}, "because"};

class Violations : public ::testing::Test {
 protected:
  Violations() {
    running = world.run("2..4 elastic=restart", 2);
    waiting = world.submit("2..4");
    valid = world.plan([&](const Snapshot&, Draft& draft) {
      draft.resize(running, draft.refit(running, 3).value(), kBecause);
      draft.start(waiting, draft.fit(waiting, 2).value(), kBecause);
    });
  }

  std::vector<std::string> found() { return violations(world.snapshot(), valid); }
  Change& resize() { return valid.changes[0]; }
  Change& start() { return valid.changes[1]; }

  World world{"2x4 cpu"};
  JobId running, waiting;
  Plan valid;
};

TEST_F(Violations, AreNoneInAPlanOfADraft) { EXPECT_THAT(found(), IsEmpty()); }

// ---- where: a plan made for a job without constraints, judged as if it had them ----

// What is wrong when the job starts on these slots of these nodes.
std::vector<std::string> start_on(World& world, std::string_view literal, const Placement& seats) {
  const JobId id = world.submit(literal);
  Plan plan;
  plan.changes.push_back({ChangeKind::start, id, Generation{1}, seats, kBecause, 0, {}});
  return violations(world.snapshot(), plan);
}

Seat seat(std::uint32_t node, std::uint32_t slot) { return {NodeId{node}, {slot}}; }

TEST(Place, HasTheLabelsTheDevicesAndTheCores) {
  World world("1x4 n cpus=8; 1x4 m disk=nvme cpus=8");
  EXPECT_THAT(start_on(world, "1 affinity=label:disk", {seat(0, 0)}),
              ElementsAre("job 1 is placed on n-0, but it needs label disk"));
  EXPECT_THAT(start_on(world, "1 affinity=label:disk~1h", {seat(0, 0)}), IsEmpty());
  EXPECT_THAT(start_on(world, "1 devices=m", {seat(0, 0)}),
              ElementsAre("job 3 is placed on n-0, but it needs m",
                          "job 3 gets a n, which it did not name"));
  EXPECT_THAT(start_on(world, "2 devices=m,n", {seat(0, 0), seat(1, 0)}),
              ElementsAre("job 4 gets devices of several models"));
  EXPECT_THAT(start_on(world, "3 cpus=3", {seat(0, 0), seat(0, 1), seat(0, 2)}),
              ElementsAre("3 workers of job 5 are more than n-0 has cores and memory for"));
}

// What it has it may keep, and give some of it back, whatever became of the node.
TEST(Place, MayBeOnePartOfWhereAGangIs) {
  World world("1x4 n memory=4 rack=a; 1x4 m memory=4 rack=a");
  const JobId job = world.run("2..6 memory=1 elastic=restart affinity=self:rack", 6);
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.memory_bytes = 1U << 30;
  spec.rack = "b";
  world.tell(NodeUp{NodeId{0}, spec});
  const auto resized = [&](const Placement& seats) {
    Plan plan;
    plan.changes.push_back({ChangeKind::resize, job, Generation{2}, seats, kBecause, 0, {}});
    return violations(world.snapshot(), plan);
  };
  EXPECT_THAT(resized({seat(0, 0), seat(0, 1), seat(1, 0)}), IsEmpty());
  EXPECT_THAT(resized({seat(0, 0), seat(0, 1), seat(1, 0), seat(1, 1), seat(1, 2)}),
              ElementsAre("the workers of job 1 have to be on one rack"));
}

TEST(Place, IsAwayFromOthersAsRequired) {
  World world("2x4 n");
  world.run("1 exclusive name=alone", 1);
  EXPECT_THAT(
      start_on(world, "1", {seat(0, 1)}),
      ElementsAre(
          "job 2 is placed on n-0, but it is kept off by job 1, which has nodes of its own"));
  EXPECT_THAT(start_on(world, "1 anti=job:alone", {seat(0, 1)}), ::testing::SizeIs(1));
  EXPECT_THAT(start_on(world, "1 anti=job:alone", {seat(1, 1)}), IsEmpty());
  EXPECT_THAT(start_on(world, "1 affinity=job:nobody", {seat(1, 1)}),
              ElementsAre("job 5 is placed on n-1, but it needs the nodes of job 'nobody'"));
}

// It may stand anywhere, and the next one need not be near it. The same plan the other way round has it
// come second.
TEST(Place, OfTheFirstOfItsNameIsNotJudgedByThoseThatThePlanStartsAfterIt) {
  World world("1x2 n rack=a; 1x2 n rack=b");
  const JobId first = world.submit("2 name=q affinity=job:q:rack"),
              second = world.submit("2 name=q");
  Plan plan;
  plan.changes.push_back(
      {ChangeKind::start, first, Generation{1}, {seat(0, 0), seat(0, 1)}, kBecause, 0, {}});
  plan.changes.push_back(
      {ChangeKind::start, second, Generation{1}, {seat(1, 0), seat(1, 1)}, kBecause, 0, {}});
  EXPECT_THAT(violations(world.snapshot(), plan), IsEmpty());
  std::swap(plan.changes[0], plan.changes[1]);
  EXPECT_THAT(violations(world.snapshot(), plan),
              ElementsAre("job 1 is placed on n-0, but it needs the racks of job 'q'"));
}

TEST(Place, KeepsAGangTogetherOrApart) {
  World world("2x4 n");
  EXPECT_THAT(start_on(world, "2 mesh=2x1", {seat(0, 0), seat(1, 0)}),
              ElementsAre("a tensor group of job 1 is spread over nodes"));
  EXPECT_THAT(start_on(world, "1..4 mesh=2x1", {seat(0, 0), seat(0, 1), seat(0, 2)}),
              ElementsAre("job 2 gets 3 workers, no multiple of 2"));
  EXPECT_THAT(start_on(world, "2 affinity=self", {seat(0, 0), seat(1, 0)}),
              ElementsAre("the workers of job 3 have to be on one node"));
  EXPECT_THAT(start_on(world, "2 anti=self", {seat(0, 0), seat(0, 1)}),
              ElementsAre("the workers of job 4 have to be on different nodes"));
}

TEST_F(Violations, AJobThatDoesNotExist) {
  start().job = JobId{9};
  EXPECT_THAT(found(), ElementsAre("job 9 does not exist"));
}

TEST_F(Violations, AJobChangedTwice) {
  valid.changes.push_back(start());
  EXPECT_THAT(found(), Contains("job 2 is changed twice"));
}

TEST_F(Violations, AChangeWithoutAReason) {
  start().reason = {};
  EXPECT_THAT(found(), ElementsAre("the change of job 2 has no reason"));
}

TEST_F(Violations, ASlotGivenTwice) {
  start().placement[1] = start().placement[0];
  EXPECT_THAT(found(), ElementsAre("slot cpu-1/0 is given twice"));
}

TEST_F(Violations, ASlotThatIsLeased) {
  start().placement[1] = {NodeId{0}, {0}};
  resize().placement.erase(resize().placement.begin());
  EXPECT_THAT(found(), IsEmpty());  // its holder leaves it in this plan
  valid.changes.erase(valid.changes.begin());
  EXPECT_THAT(found(), ElementsAre("slot cpu-0/0 is leased"));
}

TEST_F(Violations, ASlotThatIsPromised) {
  const JobId third = world.submit("1..1");
  world.preempt(running, waiting, 2);
  const Placement promised = {{NodeId{0}, {0}}};
  valid.changes = {{ChangeKind::start, third, Generation{1}, promised, kBecause, 1, {}}};
  EXPECT_THAT(found(), Contains("slot cpu-0/0 is promised already"));
  world.ended(running, 0, testing::ending("signal 9"));
  EXPECT_THAT(found(), ElementsAre("slot cpu-0/0 is leased"));
}

TEST_F(Violations, ASlotThatEndsForNobodyIsNotFreeYet) {
  world.cancel(running);
  valid.changes = {{ChangeKind::start,
                    waiting,
                    Generation{1},
                    {{NodeId{0}, {0}}, {NodeId{0}, {1}}},
                    kBecause,
                    1,
                    {}}};
  EXPECT_THAT(found(), ElementsAre("slot cpu-0/0 is leased", "slot cpu-0/1 is leased"));
}

TEST_F(Violations, ANodeThatIsDownOrUnknown) {
  start().placement[1].node = NodeId{7};
  EXPECT_THAT(found(), ElementsAre("job 2 is placed on a node that is not up"));
  world.node_down("cpu-1");
  EXPECT_EQ(found().size(), 2U);
}

TEST_F(Violations, AGangIsToLeaveANodeThatIsNotHeard) {
  const NodeId node = world.job(running).current->workers[0].seat.node;
  world.node_down(world.state().find_node(node)->spec.name);
  EXPECT_THAT(found(), Contains("job 1 is to leave cpu-0, which isn't heard"));
}

TEST_F(Violations, ASlotThatDoesNotExistOrIsUsedByOthers) {
  start().placement[1].slots = {4};
  EXPECT_THAT(found(), ElementsAre("job 2 gets slot cpu-1/4, which can't be used"));
  start().placement[1].slots = {3};
  NodeSpec spec = world.state().nodes()[1].spec;
  spec.slots[3].usable = false;
  world.tell(NodeUp{NodeId{1}, spec});
  EXPECT_THAT(found(), ElementsAre("job 2 gets slot cpu-1/3, which can't be used"));
}

TEST_F(Violations, TooFewOrTooManyWorkers) {
  start().placement.pop_back();
  EXPECT_THAT(found(), ElementsAre("job 2 gets 1 workers, outside 2..4"));
  start().placement.clear();
  EXPECT_THAT(found(), ElementsAre("job 2 gets 0 workers, outside 2..4"));
}

TEST_F(Violations, AWorkerWithoutAllItsSlots) {
  start().placement[0].slots.clear();
  EXPECT_THAT(found(), ElementsAre("a worker of job 2 gets 0 slots instead of 1"));
}

TEST_F(Violations, AGenerationUsedBefore) {
  resize().generation = Generation{1};
  EXPECT_THAT(found(), ElementsAre("generation 1 of job 1 was used"));
}

TEST_F(Violations, AJobThatMayNotBeChangedNow) {
  world.pause(running);
  world.pause(waiting);
  EXPECT_THAT(found(), ElementsAre("job 1 is PAUSED and can't be changed",
                                   "job 2 is started but does not wait"));
}

TEST_F(Violations, AJobStartedBeforeItsTime) {
  const JobId again = world.run("1..1 retry=1", 1);
  world.ended(again, testing::ending("1"));
  valid.changes = {{ChangeKind::start, again, Generation{2}, {{NodeId{1}, {3}}}, kBecause, 1, {}}};
  EXPECT_THAT(found(), ElementsAre("job 3 is started but does not wait"));
  world.advance(testing::span("1s"));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Violations, AJobStartedBeforeThoseItWaitsFor) {
  const JobId after = world.submit("1..1 after=1");
  valid.changes = {{ChangeKind::start, after, Generation{1}, {{NodeId{1}, {3}}}, kBecause, 1, {}}};
  EXPECT_THAT(found(), ElementsAre("job 3 is started but does not wait"));
}

TEST_F(Violations, AStopForNobodyOrForAJobThatGetsNothing) {
  valid.changes = {{ChangeKind::stop, running, Generation{1}, {}, kBecause, 1, {}}};
  EXPECT_THAT(found(), ElementsAre("the stop of job 1 is for nobody"));
  valid.changes[0].beneficiary = waiting;
  EXPECT_THAT(found(), ElementsAre("job 1 makes room for job 2, which gets nothing"));
}

TEST_F(Violations, AShrinkForAJobThatGetsNothing) {
  resize().beneficiary = JobId{9};
  EXPECT_THAT(found(), ElementsAre("job 1 makes room for job 9, which gets nothing"));
}

TEST(CheckState, IsQuietThroughALifeAndFindsLeasesThatDisagree) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  StateParts parts = world.state().parts();
  parts.nodes[0].slots[0].lease->worker.number = 1;
  EXPECT_THAT(check_state(State(parts)),
              Contains("slot cpu-0/0: is leased to a worker that has no seat there"));
  parts = world.state().parts();
  parts.nodes[0].slots[3].promise = ProcessKey{a, Generation{1}, 0};
  EXPECT_THAT(check_state(State(parts)),
              ElementsAre("slot cpu-0/3: is promised to a worker that has no seat there",
                          "slot cpu-0/3: is promised without an ending lease"));
}

TEST(CheckState, FindsJobsThatHoldWhatTheirStateDoesNotAllow) {
  World world("1x4 cpu");
  world.run("1..1", 1);
  world.submit("1..1");
  const auto found_in = [&](JobState first, JobState second) {
    StateParts parts = world.state().parts();
    parts.jobs.at(JobId{1}).state = first;
    parts.jobs.at(JobId{2}).state = second;
    return check_state(State(parts)).size();
  };
  EXPECT_EQ(found_in(JobState::running, JobState::pending), 0U);
  for (const auto state : {JobState::pending, JobState::stopping, JobState::completed}) {
    EXPECT_GT(found_in(state, JobState::pending), 0U) << to_string(state);
  }
  for (const auto state : {JobState::starting, JobState::running, JobState::resizing,
                           JobState::stopping, JobState::failed}) {
    EXPECT_GT(found_in(JobState::running, state), 0U) << to_string(state);
  }
}

TEST(CheckState, FindsASlotWithoutTheLeaseOfARunningWorker) {
  World world("1x4 cpu");
  world.run("2..2", 2);
  StateParts parts = world.state().parts();
  parts.nodes[0].slots[1].lease.reset();
  EXPECT_THAT(check_state(State(parts)),
              Contains("job 1 (RUNNING): worker 1 lacks the lease of slot 1"));
  parts = world.state().parts();
  parts.jobs.at(JobId{1}).leased = 3;
  EXPECT_THAT(check_state(State(parts)), ElementsAre("job 1 (RUNNING): counts 3 leases, has 2"));
}

}  // namespace
}  // namespace paceline
