#include "cli/job/contradictions.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kNow = wall_from_us(1'000'000);

JobSpec expecting(Duration length) {
  JobSpec spec;
  spec.expected_duration = length;
  return spec;
}

TEST(Contradictions, TellOfADeadlineThatTheLengthMisses) {
  auto spec = expecting(hours{2});
  spec.deadline = kNow + hours{1};
  EXPECT_THAT(
      contradictions(spec, kNow),
      ElementsAre("The deadline can't be met: it is in 1h00m, and the job expects to run 2h00m."));
  spec.deadline = kNow + hours{2};
  EXPECT_THAT(contradictions(spec, kNow), IsEmpty());
}

TEST(Contradictions, TellOfALengthThatTheMaximumCutsOff) {
  auto spec = expecting(hours{2});
  spec.max_duration = hours{1};
  EXPECT_THAT(contradictions(spec, kNow),
              ElementsAre("The job will be stopped before it is done: it may run 1h00m, and "
                          "expects 2h00m."));
  spec.max_duration = hours{2};
  EXPECT_THAT(contradictions(spec, kNow), IsEmpty());
}

TEST(Contradictions, TellOfARangeForAJobWhoseSizeStays) {
  JobSpec spec;
  spec.workers = {1, 4, 1};
  EXPECT_THAT(contradictions(spec, kNow), IsEmpty());
  spec.elastic = Elastic::no;
  EXPECT_THAT(contradictions(spec, kNow),
              ElementsAre("Its size stays what it starts with, one of 1 to 4 workers: "
                          "--elastic no."));
  spec.workers = {4, 4, 4};
  EXPECT_THAT(contradictions(spec, kNow), IsEmpty());
}

TEST(Contradictions, AreNoneWhereNoLengthIsKnown) {
  JobSpec spec;
  spec.deadline = kNow + hours{1};
  spec.max_duration = hours{3};
  EXPECT_THAT(contradictions(spec, kNow), IsEmpty());
}

}  // namespace
}  // namespace paceline
