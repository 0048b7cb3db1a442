#include "placement/repack.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "placement/defragment.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

// The job's workers stand on the first free slots of these nodes, one after the other.
JobId run_on(World& world, std::string_view literal, const std::vector<std::uint32_t>& nodes) {
  const JobId id = world.submit(literal);
  world.round([&](const Snapshot& s, Draft& draft) {
    std::map<std::uint32_t, std::int32_t> workers;
    for (const auto node : nodes) ++workers[node];
    Placement seats;
    for (const auto& [node, count] : workers) {
      const auto here = seats_on(s.state.free_slots(), NodeId{node}, count,
                                 s.state.job(id).spec->slots_per_worker);
      seats.insert(seats.end(), here.begin(), here.end());
    }
    draft.start(id, seats, {ReasonCode::starts, {1}, {}});
  });
  world.started(id);
  return id;
}

const Reason kMoves{ReasonCode::moves_for, {9}, {}};

TEST(Repack, KeepsEverybodyWhereNothingChanges) {
  World world("3x4 n");
  const JobId a = run_on(world, "1..8 elastic=restart", {0, 1, 1});
  PackPlacer placer;
  const Draft draft(world.snapshot(), placer);
  const auto repacked = repack(draft, std::vector<NewSize>{{a, 3}});
  ASSERT_TRUE(repacked);
  EXPECT_EQ(repacked->moved, 0);
  EXPECT_TRUE(repacked->exact);
  EXPECT_EQ(repacked->jobs[0].seats, draft.seats(a));
}

TEST(Repack, MovesTheFewestToMakeRoomForTheLargestWorker) {
  World world("2x4 n");
  const JobId wide = run_on(world, "1..2 slots_per_worker=3 elastic=restart", {0});
  const JobId small = run_on(world, "1..4 elastic=restart", {1, 1});
  PackPlacer placer;
  const Draft draft(world.snapshot(), placer);
  const auto repacked = repack(draft, std::vector<NewSize>{{wide, 2}, {small, 2}});
  ASSERT_TRUE(repacked);
  EXPECT_EQ(repacked->moved, 1);  // one of the small ones goes to node 0
  EXPECT_FALSE(repack(draft, std::vector<NewSize>{{wide, 2}, {small, 3}}));
}

// How many workers could stay at best: every way to spread the jobs over the nodes.
struct BruteForce {
  struct Job {
    std::uint32_t slots = 1;
    std::int32_t workers = 0;
    std::vector<std::int32_t> before;  // by node
  };
  std::vector<Job> jobs;
  std::vector<std::uint32_t> left;
  std::int32_t best = -1;

  void run(std::size_t job, std::size_t node, std::int32_t workers, std::int32_t kept) {
    if (job == jobs.size()) {
      best = std::max(best, kept);
      return;
    }
    if (node == left.size()) {
      if (workers == 0) run(job + 1, 0, job + 1 < jobs.size() ? jobs[job + 1].workers : 0, kept);
      return;
    }
    const Job& j = jobs[job];
    for (std::int32_t n = 0; n <= workers; ++n) {
      const auto need = static_cast<std::uint32_t>(n) * j.slots;
      if (need > left[node]) break;
      left[node] -= need;
      run(job, node + 1, workers - n, kept + std::min(n, j.before[node]));
      left[node] += need;
    }
  }
};

RC_GTEST_PROP(Repack, MovesAsFewAsBruteForce, ()) {
  const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 7);
  World world(fmt::format("{}x4 n", nodes));
  BruteForce brute;
  std::vector<NewSize> sizes;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 4);
    std::vector<std::uint32_t> on;
    std::vector<std::int32_t> before(nodes, 0);
    for (int w = *rc::gen::inRange(1, 5); w > 0; --w) {
      const auto node = *rc::gen::inRange<std::uint32_t>(0, nodes);
      const auto used = static_cast<std::uint32_t>(before[node]) * slots;
      if (world.state().free_slots().free_on(NodeId{node}) < used + slots) continue;
      on.push_back(node);
      ++before[node];
    }
    if (on.empty()) continue;
    const auto literal = fmt::format("1..30 slots_per_worker={} elastic=restart", slots);
    const JobId id = run_on(world, literal, on);
    const auto size = *rc::gen::inRange(1, static_cast<int>(on.size()) + 3);
    sizes.push_back({id, size});
    brute.jobs.push_back({slots, size, before});
  }
  brute.left.assign(nodes, 4);
  if (!sizes.empty()) brute.run(0, 0, sizes[0].workers, 0);
  PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  const auto repacked = repack(draft, sizes);
  RC_ASSERT(repacked.has_value() == (brute.best >= 0 || sizes.empty()));
  if (!repacked || sizes.empty()) return;
  RC_ASSERT(repacked->exact);
  std::int32_t may_stay = 0, stay = 0;
  std::set<SlotId> taken;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Placement before = draft.seats(sizes[i].job);
    const Placement& seats = repacked->jobs[i].seats;
    RC_ASSERT(seats.size() == static_cast<std::size_t>(sizes[i].workers));
    may_stay += static_cast<std::int32_t>(std::min(before.size(), seats.size()));
    for (const Seat& seat : seats) {
      stay += std::count(before.begin(), before.end(), seat) > 0 ? 1 : 0;
      for (const auto slot : seat.slots) RC_ASSERT(taken.insert({seat.node, slot}).second);
    }
  }
  RC_ASSERT(stay == brute.best);
  RC_ASSERT(repacked->moved == may_stay - stay);
}

TEST(MakeRoom, MovesOneSmallJobForALargeWorker) {
  World world("2x4 n");
  const JobId a = run_on(world, "2 elastic=restart", {0, 0});
  const JobId b = run_on(world, "1 elastic=restart", {1});
  const JobId wide = world.submit("1 slots_per_worker=4");
  PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  ASSERT_FALSE(draft.fit(wide, 1));
  const auto room = make_room(draft, world.job(wide), 1);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->moved, 1);
  ASSERT_EQ(room->moves.size(), 1U);
  EXPECT_EQ(room->moves[0].job, b);
  EXPECT_FALSE(draft.changed(a));
}

TEST(MakeRoom, IsATradeThatThePlanKeeps) {
  World world("2x4 n");
  const JobId a = run_on(world, "2 elastic=restart", {0, 0});
  run_on(world, "1 elastic=restart", {1});
  const JobId wide = world.submit("1 slots_per_worker=4");
  const Plan plan = world.round([&](const Snapshot&, Draft& draft) {
    auto room = make_room(draft, world.job(wide), 1);
    ASSERT_TRUE(room);
    draft.begin_trade();
    draft.resize_together(std::move(room->moves), kMoves, wide);
    draft.start(wide, std::move(room->seats), {ReasonCode::starts, {1}, {}});
    draft.end_trade();
  });
  ASSERT_EQ(plan.changes.size(), 2U);
  EXPECT_EQ(plan.changes[0].kind, ChangeKind::move);
  EXPECT_EQ(world.job(a).state, JobState::running);
}

TEST(MakeRoom, LeavesThoseThatCanNotMove) {
  World world("2x4 n");
  run_on(world, "2 elastic=no", {0, 0});
  run_on(world, "1 elastic=no", {1});
  const JobId wide = world.submit("1 slots_per_worker=4");
  PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  EXPECT_FALSE(make_room(draft, world.job(wide), 1));
}

}  // namespace
}  // namespace paceline
