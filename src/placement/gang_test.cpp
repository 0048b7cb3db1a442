#include "placement/gang.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "placement/pack.hpp"
#include "placement/placers.hpp"
#include "placement/seats_testing.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

std::string fit(World& world, std::string_view literal, std::int32_t workers,
                std::string_view placer_name = "pack") {
  const JobId job = world.submit(literal);
  const auto placer = *make_placer(placer_name);
  const Draft draft(world.snapshot(), *placer);
  return text_of(world.state(), draft.fit(job, workers));
}

std::string refit(World& world, JobId job, std::int32_t workers) {
  const PackPlacer placer;
  const Draft draft(world.snapshot(), placer);
  return text_of(world.state(), draft.refit(job, workers));
}

TEST(Islands, HoldAGangWhereOneCan) {
  World world("1x8 n islands=2");
  world.run("1", 1);
  EXPECT_EQ(fit(world, "3", 3), "n-0:1 n-0:2 n-0:3");
  EXPECT_EQ(fit(world, "4", 4), "n-0:4 n-0:5 n-0:6 n-0:7");
  EXPECT_EQ(fit(world, "6", 6), "n-0:4 n-0:5 n-0:6 n-0:7 n-0:1 n-0:2");
}

TEST(Islands, HoldATensorGroupEachEvenIfTheGangIsLarger) {
  World world("1x8 n islands=2");
  world.run("1", 1);
  EXPECT_EQ(fit(world, "6 mesh=2x1", 6), "n-0:4 n-0:5 n-0:6 n-0:7 n-0:1 n-0:2");
  EXPECT_EQ(fit(world, "6 mesh=3x1", 6), "n-0:4 n-0:5 n-0:6 n-0:1 n-0:2 n-0:3");
}

TEST(Mesh, IsNeverCutBetweenNodes) {
  World world("3x3 n");
  EXPECT_EQ(fit(world, "4 mesh=2x1", 4), "n-0:0 n-0:1 n-1:0 n-1:1");
  EXPECT_EQ(fit(world, "8 mesh=2x1", 8), "none");
  EXPECT_EQ(fit(world, "4 mesh=4x1", 4), "none");
  EXPECT_EQ(fit(world, "2..4 mesh=2x1", 3), "none");
}

TEST(Mesh, ShrinksByCopiesOfTheLeastUsedNodes) {
  World world("1x4 n; 1x2 n");
  const JobId job = world.run("2..6 mesh=2x1 elastic=restart", 6);
  EXPECT_EQ(refit(world, job, 4), "n-0:0 n-0:1 n-0:2 n-0:3");
}

// Its node was told again with less memory than its workers there ask for.
TEST(Mesh, GrowsElsewhereThanOnANodeThatBecameTooSmall) {
  World world("1x8 n memory=4; 2x3 n memory=16");
  const JobId job = world.run("4..8 memory=1 mesh=1x4 elastic=restart", 4);
  ASSERT_EQ(world.job(job).current->workers.back().seat.node, NodeId{0});
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.memory_bytes -= 1U << 30;
  world.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(refit(world, job, 8), "n-0:0 n-0:1 n-0:2 n-0:3 n-1:0 n-1:1 n-1:2 n-2:0");
}

TEST(Mesh, CompletesAGroupThatLostAWorkerOnItsNode) {
  World world("2x4 n");
  const JobId job = world.run("2..4 mesh=2x1 elastic=restart", 4);
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.slots[1].usable = false;
  world.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(refit(world, job, 4), "n-0:0 n-0:2 n-1:0 n-1:1");
  EXPECT_EQ(refit(world, job, 2), "n-0:0 n-0:2");
}

TEST(Growth, StaysOnItsModelAndInItsRack) {
  World world("1x2 n rack=a; 1x4 n rack=b; 1x4 m rack=a; 1x3 n rack=a");
  const JobId job = world.run("1..20 elastic=restart", 2);
  EXPECT_EQ(refit(world, job, 4), "n-0:0 n-0:1 n-2:0 n-2:1");
  EXPECT_EQ(refit(world, job, 10), "none");
}

void name_rack_anew(World& world, std::uint32_t node, std::string_view rack) {
  NodeSpec spec = world.state().nodes()[node].spec;
  spec.rack = rack;
  world.tell(NodeUp{NodeId{node}, spec});
}

TEST(Growth, GathersAGangThatIsNoLongerInOneRack) {
  World world("5x1 n rack=a");
  const JobId job = world.run("1..5 elastic=restart affinity=self:rack", 3);
  name_rack_anew(world, 1, "b");
  EXPECT_EQ(refit(world, job, 3), "n-0:0 n-1:0 n-2:0");
  EXPECT_EQ(refit(world, job, 4), "n-0:0 n-2:0 n-3:0 n-4:0");
  EXPECT_EQ(refit(world, job, 5), "none");
  world.change_size(job, 4);
  EXPECT_EQ(world.job(job).forming->size(), 4);
}

TEST(Growth, LeavesARackInWhichItsWorkersAreNoLongerAlone) {
  World world("1x2 n rack=a; 1x2 n rack=b; 1x2 n rack=c; 1x2 n rack=d");
  const JobId job = world.run("1..4 elastic=restart anti=self:rack", 2);
  name_rack_anew(world, 1, "a");
  EXPECT_EQ(refit(world, job, 2), "n-0:0 n-1:0");
  EXPECT_EQ(refit(world, job, 3), "n-0:0 n-2:0 n-3:0");
  EXPECT_EQ(refit(world, job, 4), "none");
  world.change_size(job, 3);
  EXPECT_EQ(world.job(job).forming->size(), 3);
}

// What is only preferred moves nobody.
TEST(Growth, KeepsAGangThatNeedNotBeInOneRackAsItStands) {
  World world("4x1 n rack=a");
  const JobId job = world.run("1..4 elastic=restart affinity=self:rack~1m", 2);
  name_rack_anew(world, 1, "b");
  EXPECT_EQ(refit(world, job, 3), "n-0:0 n-1:0 n-2:0");
}

TEST(Spread, SharesEvenly) {
  World world("1x4 n; 1x2 n; 1x1 n");
  EXPECT_EQ(fit(world, "3", 3, "spread"), "n-0:0 n-1:0 n-2:0");
  EXPECT_EQ(fit(world, "6", 6, "spread"), "n-0:0 n-0:1 n-0:2 n-1:0 n-1:1 n-2:0");
  EXPECT_EQ(fit(world, "8", 8, "spread"), "none");
}

TEST(MakePlacer, NamesTheNearestOne) {
  const auto made = make_placer("pac");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().hint, "Did you mean 'pack'?");
}

// ---- on random worlds ----

template <class... Words>
std::string one_of(Words... words) {
  return *rc::gen::element(std::string(words)...);
}

std::string some_cluster() {
  std::string text;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    text += fmt::format("{}{}x{} {} {} {} {}", text.empty() ? "" : "; ", *rc::gen::inRange(1, 3),
                        *rc::gen::inRange(1, 9), one_of("n", "m"), one_of("", "rack=a", "rack=b"),
                        one_of("", "disk=x", "disk=y"), one_of("", "islands=2", "cpus=8"));
  }
  return text;
}

std::string some_job() {
  const auto tensor = *rc::gen::inRange(1, 3), pipeline = *rc::gen::inRange(1, 3);
  const auto step = tensor * pipeline;
  return fmt::format("{}..{} mesh={}x{} slots_per_worker={} elastic=restart name={} {} {} {} {}",
                     step, step * 12, tensor, pipeline, *rc::gen::inRange(1, 3), one_of("a", "b"),
                     one_of("", "", "devices=m", "exclusive", "cpus=2"),
                     one_of("", "", "affinity=label:disk", "affinity=label:disk=x~", "anti=job:b"),
                     one_of("", "", "anti=self", "affinity=self:rack", "affinity=job:a:rack"),
                     one_of("", "", "anti=job:a~", "affinity=label:disk=y~1m"));
}

// Everything that starts and changes its size does so by a plan that the check lets pass (World
// checks it), whole or not at all, and twice the same.
RC_GTEST_PROP(GangPlacer, BreaksNoConstraint, ()) {
  World world(some_cluster());
  const auto name = one_of("pack", "spread");
  const auto placer = *make_placer(name);
  world.set_placer(*placer);
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const JobId id = world.submit(some_job());
    const Job& job = world.job(id);
    const auto workers = job.spec->mesh.step() * *rc::gen::inRange(1, 5);
    std::optional<Placement> seats;
    world.round([&](const Snapshot&, Draft& draft) {
      seats = draft.fit(id, workers);
      RC_ASSERT(seats == draft.fit(id, workers));
      if (seats) draft.start(id, *seats, {ReasonCode::starts, {workers}, {}});
    });
    if (!seats) continue;
    RC_ASSERT(seats->size() == static_cast<std::size_t>(workers));
    world.started(id);
    const auto next = job.spec->mesh.step() * *rc::gen::inRange(1, 7);
    world.round([&](const Snapshot&, Draft& draft) {
      auto other = draft.refit(id, next);
      if (next <= workers) RC_ASSERT(other.has_value());
      if (!other) return;
      std::int32_t kept = 0;
      for (const Seat& seat : *other)
        kept += std::count(seats->begin(), seats->end(), seat) > 0 ? 1 : 0;
      RC_ASSERT(kept == std::min(next, workers));
      draft.resize(id, *other, {ReasonCode::grows, {workers, next}, {}});
    });
    if (world.job(id).state == JobState::resizing) {
      world.killed(id);
      world.started(id);
    }
  }
}

}  // namespace
}  // namespace paceline
