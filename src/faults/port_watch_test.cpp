#include "faults/port_watch.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace paceline::faults {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeSpec node(const std::string& name) {
  NodeSpec spec;
  spec.name = name;
  return spec;
}

WorkerLaunch member(std::uint32_t job, std::uint32_t generation, std::int32_t number) {
  WorkerLaunch launch;
  launch.key = {JobId{job}, Generation{generation}, number};
  launch.world_size = launch.group_world_size = 2;
  return launch;
}

class PortWatchTest : public ::testing::Test {
 protected:
  std::vector<std::string> wrong;
  PortWatch watch{[this](std::string what) { wrong.push_back(std::move(what)); }};
};

TEST_F(PortWatchTest, SaysNothingOfGangsThatHaveTheirOwn) {
  watch.given(node("a"), member(1, 1, 0), {20'000, 20'004});
  watch.given(node("b"), member(1, 1, 1), {20'000, 20'004});
  watch.given(node("a"), member(2, 1, 0), {20'008, 20'012});
  watch.ended({JobId{1}, Generation{1}, 0});
  watch.given(node("a"), member(3, 1, 0), {20'000, 20'004});
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(PortWatchTest, FindsTwoGangsWithOnePort) {
  watch.given(node("a"), member(1, 1, 0), {20'000, 20'004});
  watch.given(node("a"), member(2, 1, 0), {20'003, 20'007});
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("port 20003 of a")));
}

TEST_F(PortWatchTest, FindsAGangWithUnequalPorts) {
  watch.given(node("a"), member(1, 1, 0), {20'000, 20'004});
  watch.given(node("b"), member(1, 1, 1), {20'008, 20'012});
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("others of its gang 20000")));
}

TEST_F(PortWatchTest, FindsPortsThatAreNotTheMachines) {
  NodeSpec far = node("a");
  far.ports = PortRange{30'000, 31'000};
  watch.given(far, member(1, 1, 0), {20'000, 20'004});
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("which are not its machine's")));
}

TEST_F(PortWatchTest, FindsAJobThatNeverGetsOthers) {
  for (std::uint32_t generation = 1; generation < 100 && wrong.empty(); ++generation) {
    WorkerLaunch launch = member(1, generation, 0);
    launch.port = 20'000;
    watch.taken(launch);
    watch.taken(launch);
  }
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("again and again")));
}

}  // namespace
}  // namespace paceline::faults
