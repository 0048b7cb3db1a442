#include "scheduler/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/patient.hpp"
#include "policy/registry.hpp"
#include "scheduler/room.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::span;
using ::testing::StartsWith;
using testing::World;

class ExplainTest : public ::testing::Test {
 protected:
  std::vector<std::string> why(JobId job, Viewer viewer = Viewer::owner) {
    return Explanation(world.snapshot(), fifo.get(), placer, Protects::no)
        .lines(world.job(job), viewer);
  }
  void report(JobId job, const std::string& metric, double value) {
    Progress progress;
    progress.metrics[metric] = value;
    world.report(job, progress);
  }

  World world{"1x4 cpu", "fifo"};
  std::unique_ptr<Policy> fifo = *PolicyRegistry().make("fifo", {});
  PackPlacer placer;
};

TEST_F(ExplainTest, SlotsThatWereKeptOnANodeThatIsGoneAreNone) {
  World two("2x2 cpu", "fifo");
  const auto patient = *PolicyRegistry().make("sjf", {{"patience", "10m"}});
  const auto round = [&] {
    two.round([&](const Snapshot& now, Draft& draft) { patient->decide(now, draft); });
  };
  const JobId runs = two.run("1", 1), wide = two.submit("4");
  two.advance(span("2h"));
  round();
  ASSERT_TRUE(reservation(two.state()));
  two.cancel(wide);
  two.node_down("cpu-1");
  two.node_retired("cpu-1");
  const Explanation why(two.snapshot(), patient.get(), placer, Protects::no);
  EXPECT_THAT(why.lines(two.job(runs), Viewer::owner), Not(::testing::IsEmpty()));
  round();
  EXPECT_FALSE(reservation(two.state())) << "nobody waits";
}

TEST_F(ExplainTest, DevicesThatAreNotMeasuredAreSaidToCountAsEquallyFast) {
  world = World("1x1 a100; 1x1 v100", "fifo");
  const auto equal = Contains(HasSubstr("count as equally fast"));
  EXPECT_THAT(why(world.submit("1")), Not(equal)) << "of unknown length: no end is told";
  EXPECT_THAT(why(world.submit("1 expect=1h devices=v100")), Not(equal)) << "only one serves it";
  const JobId job = world.run("1 expect=1h", 1);
  EXPECT_THAT(why(job), Contains(HasSubstr("from them: a100, v100 are not measured yet.")));
  EXPECT_THAT(why(job, Viewer::other), Not(equal));
  Progress progress;
  for (progress.step = 10; *progress.step < 40; *progress.step += 10) {
    world.advance(span("10s"));
    progress.reported_at = world.now();
    world.report(job, progress);
  }
  EXPECT_THAT(why(job), Not(equal)) << "it runs where it was measured";
  world.node_lost(world.state().find_node(world.job(job).current->workers[0].seat.node)->spec.name);
  EXPECT_THAT(why(job), Contains(HasSubstr("is not measured yet.")));
}

TEST_F(ExplainTest, WhatWaitsForAMachineThatIsNotHeardNamesIt) {
  world = World("2x4 cpu memory=16", "fifo");
  const JobId job = world.run("1..8 elastic=restart", 5);
  world.checkpoint(job);
  world.resize(job, "2..2");
  world.node_down("cpu-1");
  EXPECT_THAT(why(job), Contains(HasSubstr("to have 2 workers: resized once cpu-1 is heard")));
  world.node_up("cpu-1");
  world.round();
  ASSERT_EQ(world.job(job).state, JobState::resizing);
  world.node_down("cpu-1");
  EXPECT_THAT(why(job)[0], HasSubstr("cpu-1 isn't heard: it goes back to the queue once its"));
  world.node_up("cpu-1");
  EXPECT_THAT(why(job)[0], HasSubstr("stopping: it goes back to the queue"));
}

TEST_F(ExplainTest, WhatIsFrozenOnAMachineThatIsNotHeardIsNotSaidToStartElsewhere) {
  world = World("1x1 cpu memory=16; 1x1 cpu memory=16", "fifo");
  const JobId giver = world.run("1 memory=4", 1);
  world.lend(giver, world.submit("1"), 1);
  const auto elsewhere = Contains(HasSubstr("starts anew elsewhere"));
  EXPECT_THAT(why(giver), elsewhere);
  world.node_down("cpu-0");
  EXPECT_THAT(why(giver), Not(elsewhere));
  EXPECT_THAT(why(giver), Contains(HasSubstr("once they are free and cpu-0 is heard again")));
}

TEST_F(ExplainTest, AGangThatDoesNotMeetIsNamedToTheOwner) {
  const JobId job = world.run("2", 2);
  const auto warned = Contains(HasSubstr("Look at it: none of its 2 workers"));
  EXPECT_THAT(why(job), Not(warned));
  world.tell(JobWarned{job, world.job(job).current->generation, Warning::no_rendezvous, true});
  EXPECT_THAT(why(job), warned);
  EXPECT_THAT(why(job, Viewer::other), Not(warned));
}

TEST_F(ExplainTest, WhatRefusedAStartIsSaidToItsOwner) {
  const JobId job = world.submit("1");
  world.start(job, 1);
  Ending no = testing::ending("refused");
  no.message = "No space is left in '/home/anna/runs'.";
  world.ended(job, no);
  const auto told = Contains(
      "Job 1 (PENDING) was not started: No space is left in '/home/anna/runs'; tried again soon.");
  EXPECT_THAT(why(job), told);
  EXPECT_THAT(why(job, Viewer::other), Not(Contains(HasSubstr("anna"))));
  EXPECT_THAT(why(job, Viewer::other), Contains(HasSubstr("tried again soon")));
}

TEST_F(ExplainTest, ARestartThatLacksItsCheckpointNamesTheNodeThatSendsIt) {
  World two("2x4 cpu", "fifo");
  const JobId job = two.run("1..8 elastic=restart", 1);
  two.change_size(job, 6);
  Checkpoint saved{"/saved", {}, {}, two.now()};
  saved.place = {two.state().nodes()[0].spec.name, {}, {job, Generation{1}, 0}, 1, {}, {}};
  two.tell(CheckpointAcknowledged{job, Generation{1}, saved});
  two.ended(job);
  const auto lines = Explanation(two.snapshot(), fifo.get(), placer, Protects::no)
                         .lines(two.job(job), Viewer::owner);
  EXPECT_THAT(lines, Contains(HasSubstr("starts again once " + saved.place->node +
                                        " has sent its newest checkpoint to the server")));
}

TEST_F(ExplainTest, ATargetThatNobodyReportedIsNamedToTheOwner) {
  const JobId job = world.run("1 target=acc>=0.9", 1);
  const auto silent = Contains(
      "No report named acc so far, so its target can't be met: 'paceline show 1' tells how to "
      "report it.");
  EXPECT_THAT(why(job), silent);
  EXPECT_THAT(why(job, Viewer::other), Not(silent));
  report(job, "loss", 2);
  EXPECT_THAT(why(job), silent);
  report(job, "acc", 0.1);
  EXPECT_THAT(why(job), Not(silent));
  EXPECT_THAT(why(world.submit("4 target=acc>=0.9")), Not(silent)) << "it did not run yet";
}

TEST_F(ExplainTest, AStrangerOnTheOnlySlotIsNamed) {
  World box("1x1 h100", "fifo");
  NodeSpec spec = box.state().nodes()[0].spec;
  spec.slots[0].usable = false;
  spec.slots[0].note = "in use by process 4711 of ann: python3 train.py";
  box.tell(NodeUp{NodeId{0}, spec});
  const JobId job = box.submit("1");
  EXPECT_TRUE(fits_some_day(box.state(), *box.job(job).spec, 1, {})) << "once it is given back";
  const auto lines = Explanation(box.snapshot(), fifo.get(), placer, Protects::no)
                         .lines(box.job(job), Viewer::owner);
  EXPECT_EQ(
      lines.at(0),
      "Job 1 (PENDING) no slot can be used now; slot 0 of node h100-0: in use by process 4711 of "
      "ann: python3 train.py.");
}

TEST_F(ExplainTest, ADeadlineThatIsMissedIsSaid) {
  const JobId late = world.run("1..4@1 expect=100s deadline=50s", 1);
  EXPECT_THAT(why(late), Not(Contains(HasSubstr("deadline"))))
      << "with four workers it could be met";
  const JobId rigid = world.run("1 expect=100s deadline=50s", 1);
  EXPECT_THAT(why(rigid), Contains("Its deadline can't be met: it is in 50 s, and the job is "
                                   "likely to run 100 s more."));
  world.advance(span("200s"));
  EXPECT_THAT(why(rigid), Contains("Its deadline passed 3 min ago."));
  EXPECT_THAT(why(world.run("1 deadline=300s", 1)), Not(Contains(HasSubstr("deadline"))))
      << "nobody knows its length";
  world.ended(rigid);
  EXPECT_THAT(why(rigid), Not(Contains(HasSubstr("deadline"))));
}

TEST_F(ExplainTest, TheLastDecisionIsSoLongAgo) {
  const JobId job = world.submit("1");
  world.round();
  world.started(job);
  world.advance(span("50s"));
  EXPECT_THAT(why(job), Contains(StartsWith("Last decision, 50 s ago: it starts")));
  world.advance(span("2013s"));
  EXPECT_THAT(why(job), Contains(StartsWith("Last decision, 35 min ago: it starts")));
}

}  // namespace
}  // namespace paceline
