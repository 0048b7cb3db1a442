#include "model/job_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "base/rng.hpp"

namespace paceline {
namespace {

Job numbered(std::uint32_t id, std::int32_t attempt = 0) {
  Job job;
  job.id = JobId{id};
  job.spec = std::make_shared<const JobSpec>();
  job.attempt = attempt;
  return job;
}

std::vector<std::uint32_t> ids_of(const JobTable& table) {
  std::vector<std::uint32_t> ids;
  for (const Job& job : table) ids.push_back(job.id.value);
  return ids;
}

TEST(JobTable, KnowsWhichJobsAreThereAndWhichLeft) {
  JobTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find(JobId{0}), nullptr);
  for (std::uint32_t id = 1; id <= 3; ++id) table.put(numbered(id));
  table.take_out(JobId{2});
  table.take_out(JobId{2});
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.given(), 3U);
  EXPECT_TRUE(table.has_left(JobId{2}));
  EXPECT_FALSE(table.has_left(JobId{3}));
  EXPECT_FALSE(table.has_left(JobId{0}));
  EXPECT_FALSE(table.has_left(JobId{4}));
  EXPECT_EQ(ids_of(table), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(table.after(JobId{1})->id, JobId{3});
  EXPECT_EQ(table.after(JobId{3}), table.end());
  EXPECT_EQ(table.after(JobId{4'294'967'295}), table.end());
}

TEST(JobTable, AJobStaysWhereItIsAndItsCopyIsAnother) {
  JobTable table;
  const Job* first = &table.put(numbered(1));
  for (std::uint32_t id = 2; id <= 2'000; ++id) table.put(numbered(id));
  for (std::uint32_t id = 2; id < 2'000; ++id) table.take_out(JobId{id});
  EXPECT_EQ(table.find(JobId{1}), first);
  table.marks(JobId{1}) = 5;
  JobTable copy = table;
  EXPECT_EQ(copy, table);
  EXPECT_EQ(copy.marks(JobId{1}), 5);
  copy.at(JobId{1}).attempt = 7;
  EXPECT_EQ(first->attempt, 0);
  EXPECT_FALSE(copy == table);
}

TEST(JobTable, IsAMapWithoutThoseThatLeft) {
  EXPECT_TRUE(rc::check("whatever comes and goes", [](std::uint64_t seed) {
    Rng rng(seed);
    JobTable table;
    std::map<std::uint32_t, std::int32_t> expected;
    for (int i = 0; i < 400; ++i) {
      const auto id = static_cast<std::uint32_t>(1 + rng.below(1'500));
      if (rng.chance(0.5)) {
        table.put(numbered(id, i));
        expected[id] = i;
      } else {
        table.take_out(JobId{id});
        expected.erase(id);
      }
    }
    std::vector<std::uint32_t> ids, backwards;
    for (const auto& [id, attempt] : expected) {
      ids.push_back(id);
      RC_ASSERT(table.find(JobId{id})->attempt == attempt);
    }
    for (auto job = table.rbegin(); job != table.rend(); ++job) backwards.push_back(job->id.value);
    RC_ASSERT(ids_of(table) == ids);
    RC_ASSERT(std::vector(backwards.rbegin(), backwards.rend()) == ids);
    RC_ASSERT(table.size() == ids.size());
  }));
}

}  // namespace
}  // namespace paceline
