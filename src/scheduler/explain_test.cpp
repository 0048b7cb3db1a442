#include "scheduler/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;

class ExplanationTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines(JobId job, Viewer viewer) {
    return Explanation(world.snapshot(), fifo.get(), placer, Protects::no)
        .lines(world.job(job), viewer);
  }

  World world{"1x4 cpu"};
  std::unique_ptr<Policy> fifo = *PolicyRegistry().make("fifo", {});
  PackPlacer placer;
};

TEST_F(ExplanationTest, WarnsTheOwnerOfAGangThatDoesNotMeet) {
  const JobId job = world.run("2", 2);
  const auto warned = Contains(HasSubstr("Look at it: none of its 2 workers"));
  EXPECT_THAT(lines(job, Viewer::owner), Not(warned));
  world.tell(JobWarned{job, world.job(job).current->generation, Warning::no_rendezvous, true});
  EXPECT_THAT(lines(job, Viewer::owner), warned);
  EXPECT_THAT(lines(job, Viewer::other), Not(warned));
}

}  // namespace
}  // namespace paceline
