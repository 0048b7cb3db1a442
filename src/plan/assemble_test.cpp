#include "plan/assemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using testing::World;

// Two jobs that run, and one that waits.
World busy() {
  World world("2x2 cpu");
  world.run("2..2", 2);
  world.run("1..1", 1);
  world.submit("4..4");
  return world;
}

TEST(Assemble, MakesTheStateOfItsParts) {
  const World world = busy();
  const auto state = assemble(world.state().parts());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_THAT(testing::differences(world.state(), *state), ::testing::IsEmpty());
  EXPECT_TRUE(assemble({}));
}

TEST(Assemble, RefusesPartsThatDoNotFitTogether) {
  const auto refusal = [](const std::function<void(StateParts&)>& damage) {
    StateParts parts = busy().state().parts();
    damage(parts);
    const auto state = assemble(std::move(parts));
    return state ? std::string() : state.error().message;
  };
  const auto worker = [](StateParts& parts) -> Worker& {
    return parts.jobs.at(JobId{1}).current->workers[1];
  };
  EXPECT_THAT(refusal([&](auto& p) { worker(p).seat.node = NodeId{9}; }),
              HasSubstr("job 1 has a seat on a node that is not there"));
  EXPECT_THAT(refusal([&](auto& p) { worker(p).seat.slots = {99}; }),
              HasSubstr("job 1 has a seat on a slot that is not there"));
  EXPECT_THAT(refusal([&](auto& p) { worker(p).seat.slots.clear(); }),
              HasSubstr("job 1 has a seat without slots"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.at(JobId{1}).current->workers.clear(); }),
              HasSubstr("to a worker that is not there"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.at(JobId{2}).current.reset(); }),
              HasSubstr("to a worker that is not there"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.at(JobId{3}).state = JobState::running; }),
              HasSubstr("job 3 (RUNNING): runs without a gang"));
  EXPECT_THAT(refusal([](auto& p) { p.nodes[0].retired = true; }),
              HasSubstr("node 0 has retired and has slots"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.at(JobId{3}).spec.reset(); }),
              HasSubstr("job 3 is not described"));
  EXPECT_THAT(refusal([](auto& p) {
                p.jobs.at(JobId{3}).range = {3, 2, 2};
              }),
              HasSubstr("job 3 has an impossible size"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.take_out(JobId{1}); }), HasSubstr("not there"));
  EXPECT_THAT(refusal([](auto& p) { p.jobs.at(JobId{1}).leased = 7; }),
              HasSubstr("counts 7 leases, has 2"));
  EXPECT_THAT(refusal([](auto& p) { p.nodes[0].slots.clear(); }),
              HasSubstr("node 0 has fewer slots than it describes"));
  EXPECT_THAT(refusal([](auto& p) { p.nodes[1].spec.name = p.nodes[0].spec.name; }),
              HasSubstr("node 1 has the name of another"));
  EXPECT_THAT(refusal([](auto& p) { p.nodes[0].slots[0].lease.reset(); }),
              HasSubstr("lacks the lease of slot 0"));
  EXPECT_THAT(refusal([](auto& p) {
                p.interference.pairs[{"a", "b"}] = {1.5, 4, 1};
              }),
              HasSubstr("a is compared with b"));
}

}  // namespace
}  // namespace paceline
