#include "scheduler/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::span;
using testing::World;

TEST(Passes, AreJobsBehindItInLineThatBeganWhileItWaited) {
  World world("1x8 cpu");
  world.run("1", 1);                      // before it came
  const JobId early = world.submit("1");  // ahead of it
  const JobId urgent = world.submit("1 priority=60");
  world.advance(span("1m"));
  const JobId wide = world.submit("8");
  world.advance(span("1m"));
  for (const JobId id : {early, urgent}) {
    world.start(id, 1);
    world.started(id);
  }
  EXPECT_EQ(passes_of(world.state(), world.job(wide)).count, 0U);
  std::vector<JobId> later;
  for (int i = 0; i < 6; ++i) {
    world.advance(span("1m"));
    if (i == 5) world.ended(later.front());
    later.push_back(world.run("1", 1));
  }
  const Passes passes = passes_of(world.state(), world.job(wide));
  EXPECT_EQ(passes.count, 6U);
  EXPECT_THAT(passes.last, ElementsAre(later[1], later[2], later[3], later[4], later[5]));
}

}  // namespace
}  // namespace paceline
