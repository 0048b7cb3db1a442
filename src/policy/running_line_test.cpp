#include "policy/running_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::span;
using testing::World;

double service(const Job& job, const Order::Parameters&) { return job.slot_seconds; }
double leased(const Job& job) { return job.leased; }
std::int64_t least(const Job& job) { return job.slots(job.range.min); }
double in_tens(double measure, const Order::Parameters& parameters) {
  return std::floor(measure / parameters[0]);
}

const Order kService{service, least, nullptr, {}, leased};
const Order kInTens{service, least, nullptr, {10}, leased, in_tens};

std::vector<JobId> jobs_of(const RunningLine& line) {
  std::vector<JobId> jobs;
  for (const auto& rank : line.ranks()) jobs.push_back(line.key(rank).job);
  return jobs;
}

class RunningLineTest : public ::testing::Test {
 protected:
  std::vector<JobId> line(const Order& order, const std::vector<OrderKey>& apart = {}) {
    const Snapshot snapshot = world.snapshot();
    return jobs_of(RunningLine(snapshot, order, apart));
  }
  World world{"1x8 cpu"};
};

TEST_F(RunningLineTest, FollowsTheMeasuresAsTheyGoOn) {
  const JobId slow = world.run("1..1", 1);
  world.advance(span("10s"));
  const JobId fast = world.run("4..4", 4);
  const JobId urgent = world.run("1..1 priority=90", 1);
  EXPECT_THAT(line(kService), ElementsAre(urgent, fast, slow));
  world.advance(span("5s"));  // 15 and 20 slot-seconds
  EXPECT_THAT(line(kService), ElementsAre(urgent, slow, fast));
  world.ended(slow);
  EXPECT_THAT(line(kService), ElementsAre(urgent, fast));
}

TEST_F(RunningLineTest, CountsAsItsOrderSays) {
  const JobId first = world.run("4..4", 4);
  const JobId second = world.run("1..1", 1);
  world.advance(span("1s"));
  EXPECT_THAT(line(kService), ElementsAre(second, first));
  EXPECT_THAT(line(kInTens), ElementsAre(first, second)) << "by arrival";
}

TEST_F(RunningLineTest, HasThoseApartWhereTheirKeysBelong) {
  const JobId first = world.run("1..1", 1);
  world.advance(span("10s"));
  const JobId second = world.run("1..1", 1);
  const JobId waits = world.submit("8..8");
  const OrderKey between{-50, 5, 0, world.now(), waits};
  EXPECT_THAT(line(kService, {between}), ElementsAre(second, waits, first));
  const Snapshot snapshot = world.snapshot();
  const std::vector<OrderKey> apart{between};
  const RunningLine with(snapshot, kService, apart);
  EXPECT_EQ(with.row(with.ranks()[1]), nullptr);
  EXPECT_EQ(with.row(with.ranks()[2])->job->id, first);
  EXPECT_TRUE(with.comes_before(between, with.ranks()[2]));
  EXPECT_FALSE(with.comes_before(between, with.ranks()[0]));
}

}  // namespace
}  // namespace paceline
