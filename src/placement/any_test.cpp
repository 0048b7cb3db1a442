#include "placement/any.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/seats_testing.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

TEST(Any, TakesTheFirstFreeSlots) {
  World world("2x4 n");
  const AnyPlacer placer;
  world.run("5", 5);
  const JobId job = world.submit("2");
  EXPECT_EQ(text_of(world.state(), Draft(world.snapshot(), placer).fit(job, 2)), "n-1:1 n-1:2");
}

// World::plan throws if the check refuses the plan.
TEST(Any, PlacesAJobThatAsksForAPlaceAsTheCheckWantsIt) {
  World world("2x4 n; 2x4 m disk=nvme");
  const AnyPlacer placer;
  world.set_placer(placer);
  for (const char* literal : {"1", "2 exclusive", "1", "4 mesh=2x1", "1 affinity=label:disk",
                              "2 affinity=self:node", "2 anti=self:node", "3", "2 exclusive"}) {
    const JobId job = world.submit(literal);
    const std::int32_t workers = literal[0] - '0';
    world.fold(world.plan([&](const Snapshot&, Draft& draft) {
      if (auto seats = draft.fit(job, workers))
        draft.start(job, std::move(*seats), {ReasonCode::starts, {workers}, {}});
    }));
  }
  EXPECT_GE(world.state().slots_leased(), 10);
}

}  // namespace
}  // namespace paceline
