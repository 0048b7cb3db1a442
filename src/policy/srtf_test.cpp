#include "policy/srtf.hpp"

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

// Of what is asked about a start: so many slots, of them so many of running jobs.
struct AskedOf {
  std::int64_t slots = 0, stopped = 0;
};

Judge judge(bool keeps, AskedOf& asked) {
  Judge made;
  made.trade = [](const Snapshot&, std::span<const Part>, Owed) { return Verdict{}; };
  made.stops = [&asked, keeps](const Snapshot&, const Job&, std::int64_t slots,
                               std::int64_t stopped) {
    asked = {slots, stopped};
    return Verdict{keeps, {}, {}};
  };
  return made;
}

TEST(Srtf, PassesOverWhoFitsInNothingFreeAndIsWorthNoStop) {
  World world("1x4 cpu", "srtf");
  world.run("3", 3);
  const JobId two = world.submit("2"), one = world.submit("1");
  AskedOf asked;
  const auto passes_over = [&](JobId job, const Judge& by) {
    return Srtf().quiet().passes_over(world.snapshot(), by, world.job(job));
  };
  EXPECT_TRUE(passes_over(two, judge(false, asked)));
  EXPECT_EQ(asked.slots, 2);
  EXPECT_EQ(asked.stopped, 1) << "one slot is free";
  EXPECT_FALSE(passes_over(two, judge(true, asked)));
  EXPECT_FALSE(passes_over(two, {})) << "untempered, everybody may be worth a stop";
  EXPECT_FALSE(passes_over(one, judge(false, asked))) << "it fits";
}

}  // namespace
}  // namespace paceline
