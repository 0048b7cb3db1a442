#include "model/running_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

double service(const Job& job, const Order::Parameters&) { return job.slot_seconds; }
double leased(const Job& job) { return job.leased; }
std::int64_t least(const Job& job) { return job.slots(job.range.min); }

const Order kService{service, least, nullptr, {}, leased};

std::vector<JobId> jobs_of(const State& state) {
  std::vector<JobId> jobs;
  for (const auto& row : state.running_by(kService).rows()) jobs.push_back(row.job->id);
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

const RunningTable::Row& row_of(const State& state, JobId job) {
  const auto& rows = state.running_by(kService).rows();
  return *std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.job->id == job; });
}

TEST(RunningTable, HasJobsThatRunOrAreOnTheirWay) {
  World world("1x8 cpu");
  EXPECT_TRUE(jobs_of(world.state()).empty());
  const JobId a = world.run("1..1", 1), b = world.run("1..2", 2), c = world.submit("1..4");
  EXPECT_EQ(jobs_of(world.state()), (std::vector{a, b}));
  world.start(c, 4);
  EXPECT_EQ(jobs_of(world.state()), (std::vector{a, b, c}));
  world.ended(a);
  EXPECT_EQ(jobs_of(world.state()), (std::vector{b, c}));
  world.pause(b);
  EXPECT_EQ(jobs_of(world.state()), (std::vector{c}));
}

TEST(RunningTable, MeasuresGoOnBetweenChanges) {
  World world("1x8 cpu");
  const JobId job = world.run("1..4", 4);
  EXPECT_DOUBLE_EQ(row_of(world.state(), job).measure(world.now()), 0);
  world.advance(span("10s"));
  EXPECT_DOUBLE_EQ(row_of(world.state(), job).measure(world.now()), 40);
  world.checkpoint(job);
  EXPECT_EQ(row_of(world.state(), job).as_of, world.now());
  world.advance(span("5s"));
  EXPECT_DOUBLE_EQ(row_of(world.state(), job).measure(world.now()), 60);
}

TEST(RunningTable, KnowsWhichJobsMayGiveWay) {
  World world("1x8 cpu");
  const JobId fixed = world.run("2..2 elastic=no unpreemptible", 2);
  const JobId supple = world.run("1..4 elastic=restart", 2);
  EXPECT_FALSE(row_of(world.state(), fixed).preemptible);
  EXPECT_FALSE(row_of(world.state(), fixed).resizable);
  EXPECT_TRUE(row_of(world.state(), supple).preemptible);
  EXPECT_TRUE(row_of(world.state(), supple).resizable);
  EXPECT_EQ(row_of(world.state(), supple).workers, 2);
  EXPECT_EQ(row_of(world.state(), supple).slots, 2);
}

TEST(RunningTable, KnowsTheSizesThatJobsMayHave) {
  World world("1x8 cpu");
  const JobId job = world.run("2..6@4 slots_per_worker=2 mesh=1x2", 2);
  const RunningTable::Row row = row_of(world.state(), job);
  EXPECT_EQ(row.range, (WorkerRange{2, 6, 4}));
  EXPECT_EQ(row.step, 2);
  EXPECT_EQ(row.slots_per_worker, 2);
  EXPECT_EQ(row.slots, 4);
  world.resize(job, "2..4");
  EXPECT_EQ(row_of(world.state(), job).range.max, 4);
}

TEST(RunningTable, LeavesOutAJobThatIsResizedOutOfItsRange) {
  World world("1x8 cpu");
  const JobId job = world.run("1..4 elastic=restart", 4);
  world.resize(job, "1..2");
  EXPECT_TRUE(jobs_of(world.state()).empty());
}

TEST(RunningTable, KeepsTheSequenceInWhichItsRowsWereLeft) {
  World world("1x8 cpu");
  const JobId a = world.run("1..1", 1), b = world.run("1..2", 2), c = world.run("1..1", 1);
  const auto sequence = [&] {
    const RunningTable& table = world.state().running_by(kService);
    std::vector<JobId> jobs;
    for (const auto index : table.sequence()) jobs.push_back(table.rows()[index].job->id);
    return jobs;
  };
  auto& left = world.state().running_by(kService).sequence();
  std::reverse(left.begin(), left.end());
  EXPECT_EQ(sequence(), (std::vector{c, b, a}));
  world.checkpoint(b);
  EXPECT_EQ(sequence(), (std::vector{c, b, a}));
  world.ended(a);  // whose row the last takes the place of
  EXPECT_EQ(sequence(), (std::vector{c, b}));
  const JobId d = world.run("1..1", 1);
  EXPECT_EQ(sequence(), (std::vector{c, b, d}));
}

}  // namespace
}  // namespace paceline
