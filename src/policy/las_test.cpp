#include "policy/las.hpp"

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

// When the round of now asks for the next.
std::optional<Time> asks_for(const World& world, const LasParameters& parameters) {
  const PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  Las(parameters).decide(world.snapshot(), draft);
  return draft.awaited().revisit_at;
}

TEST(Las, AsksForARoundWhenAJobIsDemoted) {
  World world("1x4 cpu", "las");
  world.run("2", 2);
  world.submit("8");  // somebody waits, and for more than there is
  world.advance(span("10s"));
  // 2 slots reach 100 slot-seconds 50 s after the start, and 1,000 after 500 s.
  EXPECT_EQ(asks_for(world, {2, 100, 0}), world.now() + span("40s"));
  world.advance(span("40s"));
  EXPECT_EQ(asks_for(world, {2, 100, 0}), std::nullopt) << "there is no third queue";
  EXPECT_EQ(asks_for(world, {3, 100, 0}), world.now() + span("450s"));
}

TEST(Las, AsksForNoRoundWhileNobodyWaits) {
  World world("1x4 cpu", "las");
  world.run("2", 2);
  EXPECT_EQ(asks_for(world, {2, 100, 0}), std::nullopt);
}

TEST(Las, AsksForARoundWhenAJobIsPromoted) {
  World world("1x2 cpu", "las");
  const JobId a = world.run("2", 2);
  world.advance(span("30s"));
  world.preempt(a, world.submit("2 unpreemptible"), 2);
  world.killed(a);
  world.advance(span("1s"));
  // It ran for 30 s, hence fell to the second queue: it counts anew after half as long.
  EXPECT_EQ(asks_for(world, {2, 60, 0.5}), world.now() + span("14s"));
  // In the first queue it stays: the round is for the running job, which falls.
  EXPECT_EQ(asks_for(world, {2, 61, 0.5}), world.now() + span("29500ms"));
}

TEST(Las, CountsAllTheServiceOfAJobBeforeItsPromotion) {
  World world("1x2 cpu", "las");
  const JobId a = world.run("2", 2);
  world.advance(span("30s"));
  world.checkpoint(a);
  const JobId b = world.submit("2");
  world.preempt(a, b, 2);
  world.killed(a);
  world.started(b);
  world.ended(b);
  world.start(a, 2);
  world.started(a);
  world.advance(span("10s"));
  world.checkpoint(a);
  world.preempt(a, world.submit("2 unpreemptible"), 2);
  world.killed(a);
  EXPECT_EQ(asks_for(world, {2, 60, 0.5}), world.now() + span("20s"));
}

TEST(Las, CountsTheServiceOfAPromotedJobAnew) {
  World world("1x2 cpu", "las");
  const JobId a = world.run("2", 2);
  world.advance(span("30s"));
  const JobId b = world.submit("2");
  world.preempt(a, b, 2);
  world.killed(a);
  world.started(b);
  world.advance(span("15s"));
  const auto decide = [](const Snapshot& snapshot, Draft& draft) {
    Las({2, 60, 0.5}).decide(snapshot, draft);
  };
  const auto anew = world.round(decide);
  EXPECT_EQ(anew.counted_anew, std::vector{a});
  ASSERT_EQ(anew.changes.size(), 2U)
      << "in the first queue it goes before a job that started later";
  EXPECT_EQ(anew.changes[0].job, b);
  EXPECT_EQ(anew.changes[1].job, a);
  EXPECT_EQ(world.job(a).service_from, 60);
  world.killed(b);
  world.started(a);
  world.advance(span("10s"));
  const auto next = world.round(decide);
  EXPECT_EQ(next.counted_anew, std::vector<JobId>());
  EXPECT_EQ(next.changes, std::vector<Change>());
  EXPECT_EQ(asks_for(world, {2, 60, 0.5}), world.now() + span("20s")) << "then it falls again";
}

TEST(Las, AsksForARoundWhenAJobIsPromotedThatItStops) {
  World world("1x2 cpu", "las");
  world.run("2 elastic=restart", 2);
  world.advance(span("30s"));
  world.submit("2");
  EXPECT_EQ(asks_for(world, {2, 60, 0.25}), world.now() + span("7500ms"));
  EXPECT_EQ(asks_for(world, {2, 60, 0}), world.now() + span("30s"));
}

TEST(Las, AsksForARoundWhenAJobFallsThatItStarts) {
  World world("1x4 cpu", "las");
  world.submit("2");
  EXPECT_EQ(asks_for(world, {2, 100, 0}), world.now() + span("50s"));
}

}  // namespace
}  // namespace paceline
