#include "placement/pack.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "placement/any.hpp"
#include "placement/seats_testing.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

class Pack : public ::testing::Test {
 protected:
  // Takes the first `count` slots of a node out of the hand of others.
  void occupy(std::string_view node, std::uint32_t count) {
    const JobId filler = world.submit("1..8");
    world.round([&](const Snapshot& s, Draft& draft) {
      draft.start(filler,
                  seats_on(s.state.free_slots(), s.state.find_node(node)->id,
                           static_cast<std::int32_t>(count), 1),
                  {ReasonCode::starts, {1}, {}});
    });
  }

  std::string fit(std::string_view literal, std::int32_t workers) {
    const JobId job = world.submit(literal);
    const Draft draft(world.snapshot(), placer);
    return text_of(world.state(), draft.fit(job, workers));
  }

  std::string refit(JobId job, std::int32_t workers) {
    const Draft draft(world.snapshot(), placer);
    return text_of(world.state(), draft.refit(job, workers));
  }

  World world{"3x4 n"};
  PackPlacer placer;
};

TEST_F(Pack, TakesTheFullestNodeThatHoldsTheGangWhole) {
  occupy("n-0", 1);
  occupy("n-1", 2);
  EXPECT_EQ(fit("2", 2), "n-1:2 n-1:3");
  EXPECT_EQ(fit("3", 3), "n-0:1 n-0:2 n-0:3");
  EXPECT_EQ(fit("4", 4), "n-2:0 n-2:1 n-2:2 n-2:3");
}

TEST_F(Pack, TakesTheLowestOfEqualNodes) { EXPECT_EQ(fit("1", 1), "n-0:0"); }

TEST_F(Pack, FillsTheEmptiestNodesWhenNoneHoldsTheGangWhole) {
  occupy("n-0", 2);
  occupy("n-1", 3);
  EXPECT_EQ(fit("6", 6), "n-2:0 n-2:1 n-2:2 n-2:3 n-0:2 n-0:3");
  EXPECT_EQ(fit("5", 5), "n-2:0 n-2:1 n-2:2 n-2:3 n-1:3");  // the last one where it fits tightest
  EXPECT_EQ(fit("8", 8), "none");
}

TEST_F(Pack, KeepsAWorkersSlotsOnOneNode) {
  occupy("n-0", 1);
  EXPECT_EQ(fit("2 slots_per_worker=2", 2), "n-1:0,1 n-1:2,3");
  EXPECT_EQ(fit("5 slots_per_worker=2", 5), "n-1:0,1 n-1:2,3 n-2:0,1 n-2:2,3 n-0:1,2");
  EXPECT_EQ(fit("3 slots_per_worker=4", 3), "none");
  EXPECT_EQ(fit("1 slots_per_worker=5", 1), "none");
}

TEST_F(Pack, ShrinksFromTheNodesThatHoldFewest) {
  occupy("n-0", 3);
  const JobId job = world.run("1..8 elastic=restart", 7);  // four on n-1, three on n-2
  EXPECT_EQ(refit(job, 5), "n-1:0 n-1:1 n-1:2 n-1:3 n-2:0");
  EXPECT_EQ(refit(job, 4), "n-1:0 n-1:1 n-1:2 n-1:3");
}

TEST_F(Pack, GrowsNearItself) {
  occupy("n-0", 2);
  const JobId job = world.run("1..8 elastic=restart", 2);  // fills n-0
  EXPECT_EQ(refit(job, 3), "n-0:2 n-0:3 n-1:0");
  const JobId other = world.run("1..8 elastic=restart", 3);
  EXPECT_EQ(refit(other, 4), "n-1:0 n-1:1 n-1:2 n-1:3");
  EXPECT_EQ(refit(other, 9), "none");
}

TEST_F(Pack, LeavesAPlaceThatCanBeUsedNoMore) {
  const JobId job = world.run("1..8 elastic=restart", 2);
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.slots[1].usable = false;
  world.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(refit(job, 2), "n-0:0 n-0:2");
}

void expect_apart(const Placement& seats, const State& state, const std::set<SlotId>& own,
                  std::int32_t per_worker) {
  std::set<SlotId> taken;
  for (const Seat& seat : seats) {
    RC_ASSERT(seat.slots.size() == static_cast<std::size_t>(per_worker));
    for (const auto index : seat.slots) {
      const SlotId id{seat.node, index};
      RC_ASSERT(taken.insert(id).second);
      RC_ASSERT(own.contains(id) || state.free_slots().is_free(id));
    }
  }
}

std::size_t room(const State& state, std::int32_t per_worker, const std::set<SlotId>& own) {
  std::size_t workers = 0;
  for (const Node& node : state.nodes()) {
    std::size_t usable = 0;
    for (std::uint32_t i = 0; i < node.slots.size(); ++i) {
      usable += state.free_slots().is_free({node.id, i}) || own.contains({node.id, i}) ? 1U : 0U;
    }
    workers += usable / static_cast<std::size_t>(per_worker);
  }
  return workers;
}

// Fits whatever there is room for, never twice the same slot; a resize keeps as many seats as it
// can.
RC_GTEST_PROP(PackPlacer, FitsWhateverThereIsRoomForAndKeepsWhatItCan, ()) {
  const auto nodes = *rc::gen::inRange(1, 6);
  const auto slots = *rc::gen::inRange(1, 9);
  World world(fmt::format("{}x{} n", nodes, slots));
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const JobId filler = world.submit("1..8");
    const auto n = *rc::gen::inRange(1, 5);
    world.round([&](const Snapshot&, Draft& draft) {
      if (auto seats = draft.fit(filler, n))
        draft.start(filler, std::move(*seats), {ReasonCode::starts, {n}, {}});
    });
  }
  const auto per_worker = *rc::gen::inRange(1, 4);
  const auto workers = *rc::gen::inRange(1, 12);
  const JobId job =
      world.submit(fmt::format("1..30 slots_per_worker={} elastic=restart", per_worker));
  PackPlacer placer;
  std::optional<Placement> seats;
  {
    const Draft draft(world.snapshot(), placer);
    seats = draft.fit(job, workers);
  }
  RC_ASSERT(seats.has_value() ==
            (room(world.state(), per_worker, {}) >= static_cast<std::size_t>(workers)));
  if (!seats) return;
  expect_apart(*seats, world.state(), {}, per_worker);
  world.start(job, workers);
  world.started(job);
  std::set<SlotId> own;
  for (const Seat& seat : *seats) {
    for (const auto index : seat.slots) own.insert({seat.node, index});
  }
  const auto next = *rc::gen::inRange(1, 20);
  const Draft draft(world.snapshot(), placer);
  const auto refitted = draft.refit(job, next);
  if (next <= workers) RC_ASSERT(refitted.has_value());
  if (!refitted) return;
  expect_apart(*refitted, world.state(), own, per_worker);
  std::size_t kept = 0;
  for (const Seat& seat : *refitted)
    kept += std::count(seats->begin(), seats->end(), seat) > 0 ? 1U : 0U;
  RC_ASSERT(kept == static_cast<std::size_t>(std::min(next, workers)));
}

}  // namespace
}  // namespace paceline
