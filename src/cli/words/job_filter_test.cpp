#include "cli/words/job_filter.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

Document job(int id, const std::string& name, const std::string& ended_at, int uid = 1) {
  return parse_document(fmt::format(R"({{"id":{},"name":"{}","ended_at":{},"uid":{}}})", id, name,
                                    ended_at, uid))
      .value();
}

std::string ids(JobsWanted wanted) {
  JobFilter filter(std::move(wanted));
  filter.take(job(1, "prep", "100"));
  filter.take(job(2, "train-a", "200", 2));
  filter.take(job(3, "train-b", "300"));
  filter.take(job(4, "train-b", "null"));
  filter.take(job(5, "prep", "null", 2));
  std::string text;
  const auto jobs = filter.jobs();
  for (const auto& one : list_of(jobs, "jobs")) text += std::to_string(whole_of(one, "id"));
  return text;
}

TEST(JobFilter, TakesAllUnlessAsked) { EXPECT_EQ(ids({}), "12345"); }

TEST(JobFilter, KnowsPatternsOfNames) {
  EXPECT_EQ(ids({.name = "train*"}), "234");
  EXPECT_EQ(ids({.name = "train-[a]"}), "2");
  EXPECT_EQ(ids({.name = "train"}), "");
}

TEST(JobFilter, TakesWhatWasNotOverBefore) {
  EXPECT_EQ(ids({.since = 200}), "2345");
  EXPECT_EQ(ids({.since = 1000}), "45");
}

TEST(JobFilter, TakesTheNewestOfThoseWanted) {
  EXPECT_EQ(ids({.last = 2}), "45");
  EXPECT_EQ(ids({.uid = 2, .last = 5}), "25");
  EXPECT_EQ(ids({.name = "prep", .last = 1}), "5");
}

}  // namespace
}  // namespace paceline
