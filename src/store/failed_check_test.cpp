#include "store/failed_check.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <variant>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

TEST(FailedCheck, SaysWhatMustHaveHeldAndLetsTheProgramGoOn) {
  EXPECT_EQ(failed_check([] {}), std::nullopt);
  State state;
  EXPECT_EQ(failed_check([&] {
              apply(state, {1, {}, TimeLimitReached{JobId{1}}});
            }),
            "the job exists");
  EXPECT_EQ(failed_check([&] {
              apply(state, {7, {}, NodeDown{NodeId{0}}});
            }),
            "entries are folded in order, without gaps");
}

TEST(FailedCheckDeathTest, IsForTheWorkAlone) {
  EXPECT_TRUE(failed_check([] { check(false, "it holds"); }));
  EXPECT_DEATH(check(false, "it holds"), "it holds");
}

// Two jobs that run, and one that waits.
World busy() {
  World world("2x2 cpu");
  world.run("2..2", 2);
  world.run("1..1", 1);
  world.submit("4..4");
  return world;
}

// Entries that no server would write, one after the other on a state that is in order.
TEST(FailedCheck, HoldsForEveryEntryThatCannotBeFolded) {
  const auto folded = [](std::variant<Event, Plan> body) {
    const World world = busy();
    State state(world.state().parts());
    return failed_check([&] {
             apply(state, {state.seq() + 1, world.now(), std::move(body)});
           })
        .value_or("folded");
  };
  const auto plan = [](ChangeKind kind, std::uint32_t job, Placement seats) {
    Change change;
    change.kind = kind;
    change.job = JobId{job};
    change.generation = Generation{9};
    change.placement = std::move(seats);
    return Plan{7, "fifo", "", {change}, {}, {}, {}};
  };
  const Seat taken{NodeId{0}, {0}};
  EXPECT_EQ(folded(NodeUp{NodeId{7}, {}}), "nodes are numbered in the order they join");
  EXPECT_EQ(folded(NodeDown{NodeId{7}}), "the node exists");
  EXPECT_EQ(folded(JobSubmitted{JobId{9}, testing::job("1..1")}), "job ids are given in order");
  EXPECT_EQ(folded(JobRequested{JobId{9}, Request::cancel, {}}), "the job exists");
  EXPECT_EQ(folded(plan(ChangeKind::start, 3, {})), "a gang has workers, each with slots");
  EXPECT_EQ(folded(plan(ChangeKind::start, 3, {Seat{NodeId{1}, {}}})),
            "a gang has workers, each with slots");
  EXPECT_EQ(folded(plan(ChangeKind::start, 3, {Seat{NodeId{9}, {0}}})),
            "the node of a seat exists");
  EXPECT_EQ(folded(plan(ChangeKind::start, 3, {Seat{NodeId{0}, {9}}})),
            "the slot of a seat exists");
  EXPECT_EQ(folded(plan(ChangeKind::start, 3, {taken})),
            "only a slot whose lease is ending is promised");
  EXPECT_EQ(folded(plan(ChangeKind::start, 1, {taken})), "only a waiting job is started");
  EXPECT_NE(folded(plan(ChangeKind::resize, 3, {taken})), "folded");
  EXPECT_NE(folded(plan(ChangeKind::stop, 3, {})), "folded");
  EXPECT_NE(folded(plan(ChangeKind::pause, 3, {})), "folded");
  EXPECT_NE(folded(plan(ChangeKind::resume, 3, {})), "folded");
}

}  // namespace
}  // namespace paceline
