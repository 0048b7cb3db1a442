#include "scheduler/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class WhatIfTest : public ::testing::Test {
 protected:
  std::vector<WhatIf> ask(JobId job) {
    const auto clock = [this] { return world->now(); };
    return what_ifs(
        {world->state().parts(), world->now(), decider(*fifo), placer, Protects::no, clock}, job);
  }

  std::optional<World> world{std::in_place, "1x4 cpu", "fifo"};
  std::unique_ptr<Policy> fifo = *PolicyRegistry().make("fifo", {});
  PackPlacer placer;
};

TEST_F(WhatIfTest, AsManySlotsAsAreFreeStartNow) {
  world->run("1 expect=100s", 1);
  const JobId wide = world->submit("4 expect=10s");
  EXPECT_THAT(ask(wide), ElementsAre(WhatIf{Changed::slots, 3, world->now()}));
}

TEST_F(WhatIfTest, ASizeThatStartsSoonerButNotNowIsNamedToo) {
  world->run("2 expect=50s", 2);
  world->run("2 expect=100s", 2);
  const JobId wide = world->submit("4 expect=10s");
  EXPECT_THAT(ask(wide), ElementsAre(WhatIf{Changed::slots, 2, world->now() + span("50s")}));
}

TEST_F(WhatIfTest, WholeCopiesOfTheModelAlone) {
  world->run("1 expect=100s", 1);
  const JobId wide = world->submit("4 mesh=2x1 expect=10s");
  EXPECT_THAT(ask(wide), ElementsAre(WhatIf{Changed::slots, 2, world->now()}));
}

TEST_F(WhatIfTest, WhatItAsksOfItsDevicesIsLeftOut) {
  world.emplace("1x1 a100; 1x1 h100", "fifo");
  world->run("1 devices=h100 expect=100s", 1);
  const JobId picky = world->submit("1 devices=h100 expect=10s");
  EXPECT_THAT(ask(picky), ElementsAre(WhatIf{Changed::devices, 0, world->now()}));
}

TEST_F(WhatIfTest, NothingHelpsBehindAFullLine) {
  world->run("4 expect=100s", 4);
  world->submit("4 expect=10s");
  EXPECT_THAT(ask(world->submit("1 expect=10s")), IsEmpty());
}

TEST_F(WhatIfTest, WhatStartsRunsOrIsHeldNeedsNoChange) {
  EXPECT_THAT(ask(world->submit("4 hold")), IsEmpty());
  EXPECT_THAT(ask(world->submit("4 expect=10s")), IsEmpty());
  EXPECT_THAT(ask(world->run("2", 2)), IsEmpty());
  EXPECT_THAT(ask(JobId{99}), IsEmpty());
}

}  // namespace
}  // namespace paceline
