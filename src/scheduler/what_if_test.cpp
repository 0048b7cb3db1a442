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

TEST_F(WhatIfTest, WhatItRequiresOfItsPlaceIsLeftOut) {
  world.emplace("1x1 cpu disk=nvme; 1x1 cpu", "fifo");
  world->run("1 affinity=label:disk=nvme expect=100s", 1);
  const JobId near = world->submit("1 affinity=label:disk=nvme expect=10s");
  EXPECT_THAT(ask(near), ElementsAre(WhatIf{Changed::affinity, 0, world->now()}));
}

TEST_F(WhatIfTest, BesideOthersItMayStart) {
  world->run("1 expect=100s", 1);
  const JobId alone = world->submit("1 exclusive expect=10s");
  EXPECT_THAT(ask(alone), ElementsAre(WhatIf{Changed::exclusive, 0, world->now()}));
}

TEST_F(WhatIfTest, OfSeveralTheSoonestComeFirstAndTheLastIsLeftOut) {
  world.emplace(
      "1x2 h100 disk=nvme at=a; 1x1 h100 disk=nvme at=b; 1x2 a100 disk=nvme at=c; 1x2 h100 at=d",
      "fifo");
  world->run("1 affinity=label:at=a expect=100s", 1);
  world->run("1 affinity=label:at=a expect=40s", 1);  // then there is room beside the other
  world->run("1 affinity=label:at=b expect=30s", 1);
  world->run("2 affinity=label:at=c expect=10s", 2);
  world->run("2 affinity=label:at=d expect=20s", 2);
  const JobId picky = world->submit("2 devices=h100 affinity=label:disk=nvme exclusive expect=10s");
  EXPECT_THAT(ask(picky), ElementsAre(WhatIf{Changed::devices, 0, world->now() + span("10s")},
                                      WhatIf{Changed::affinity, 0, world->now() + span("20s")},
                                      WhatIf{Changed::slots, 1, world->now() + span("30s")}));
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
