#include "scheduler/wakeups.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class WakeupsTest : public ::testing::Test {
 protected:
  void line_up(std::string_view policy) {
    active = *PolicyRegistry().make(policy, {});
    wakeups.line_up(*active);
  }
  // A round that asked for nothing and awaits this.
  void had_a_round(const Awaited& awaited = {}) {
    wakeups.begin(world.now());
    wakeups.end(awaited);
  }
  void hears(const Event& event) {
    Wakeups::News news;
    wakeups.see(news, event);
    world.tell(event);
    wakeups.take(news, world.now());
  }

  World world{"1x2 cpu"};
  std::unique_ptr<Policy> active;
  Wakeups wakeups{world.state(), Protects::yes, span("5s")};
};

TEST_F(WakeupsTest, WaitForAPolicy) {
  EXPECT_FALSE(wakeups.due(world.now()));
  wakeups.want();
  EXPECT_FALSE(wakeups.due(world.now()));
  line_up("fifo");
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, KeepRoundsApart) {
  line_up("fifo");
  had_a_round();
  EXPECT_EQ(wakeups.next(world.now()), std::nullopt);
  wakeups.want();
  EXPECT_FALSE(wakeups.due(world.now()));
  EXPECT_EQ(wakeups.next(world.now()), world.now() + span("5s"));
  world.advance(span("5s"));
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, AreForWhatAPolicyMayAnswerTo) {
  line_up("fifo");
  const JobId job = world.run("1..2 elastic=no", 1);
  had_a_round();
  world.advance(span("1m"));
  Progress progress;
  progress.step = 1;
  hears(Progressed{job, Generation{1}, progress});
  EXPECT_FALSE(wakeups.due(world.now()));
  hears(JobRequested{job, Request::cancel, account(1000)});
  EXPECT_TRUE(wakeups.due(world.now()));
}

// Where a policy asks for nothing of jobs that come up, their owners and drains still may.
TEST_F(WakeupsTest, ComeOnceAJobIsUpThatIsToHaveAnotherSizeOrToLeave) {
  line_up("las");
  const JobId resized = world.submit("1..2 elastic=restart"), drained = world.submit("1");
  world.start(resized, 1);
  world.start(drained, 1);
  had_a_round({.saves = {}, .starts = {resized, drained}, .revisit_at = {}});
  world.advance(span("1m"));
  hears(WorkerStarted{{drained, Generation{1}, 0}, 1});
  EXPECT_FALSE(wakeups.due(world.now())) << "it has just begun";
  world.resize(resized, "2");
  hears(WorkerStarted{{resized, Generation{1}, 0}, 1});
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, ComeAtTheInstantThatARoundAwaits) {
  line_up("fifo");
  const Time then = world.now() + span("10m");
  had_a_round({.saves = {}, .starts = {}, .revisit_at = then});
  EXPECT_EQ(wakeups.next(world.now()), then);
  world.advance(span("599s"));
  EXPECT_FALSE(wakeups.due(world.now()));
  world.advance(span("1s"));
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, ComeWithTheSaveThatARoundAwaits) {
  line_up("fifo");
  const JobId awaited = world.run("1 elastic=no", 1), other = world.run("1 elastic=no", 1);
  had_a_round({.saves = {awaited, awaited}, .starts = {}, .revisit_at = {}});
  EXPECT_EQ(wakeups.awaited_saves().size(), 1U);
  world.advance(span("1m"));
  hears(CheckpointAcknowledged{other, Generation{1}, {}});
  hears(ModelPublished{awaited, Generation{1}, {}});
  EXPECT_FALSE(wakeups.due(world.now()));
  hears(CheckpointAcknowledged{awaited, Generation{1}, {}});
  EXPECT_TRUE(wakeups.due(world.now()));
}

}  // namespace
}  // namespace paceline
