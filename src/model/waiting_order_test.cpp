#include "model/waiting_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/job.hpp"

namespace paceline {
namespace {

double expected(const Job& job, const Order::Parameters&) {
  return to_seconds(job.spec->expected_duration.value());
}
std::int64_t wanted(const Job& job) { return job.slots(job.range.want); }

Job waiting(std::uint32_t id, std::int64_t seconds, std::int32_t slots,
            std::int32_t priority = 50) {
  JobSpec spec;
  spec.priority = priority;
  spec.expected_duration = std::chrono::seconds{seconds};
  Job job;
  job.id = JobId{id};
  job.range = {slots, slots, slots};
  job.spec = std::make_shared<const JobSpec>(spec);
  return job;
}

std::vector<std::uint32_t> walk(const WaitingOrder& order, std::int64_t slots) {
  std::vector<std::uint32_t> ids;
  auto walk = order.walk();
  while (const OrderKey* at = walk.next(slots)) ids.push_back(at->job.value);
  return ids;
}

TEST(WaitingOrder, WalksThoseThatFitInItsOrder) {
  WaitingOrder order({expected, wanted});
  for (const Job& job : {waiting(1, 30, 8), waiting(2, 10, 4), waiting(3, 20, 1), waiting(4, 10, 1),
                         waiting(5, 99, 1, 80)})
    order.put(job);
  EXPECT_EQ(walk(order, 8), (std::vector<std::uint32_t>{5, 2, 4, 3, 1}));
  EXPECT_EQ(walk(order, 3), (std::vector<std::uint32_t>{5, 4, 3}));
  EXPECT_EQ(walk(order, 0), (std::vector<std::uint32_t>{}));
  order.put(waiting(3, 5, 2));
  EXPECT_EQ(walk(order, 3), (std::vector<std::uint32_t>{5, 3, 4}));
  order.drop(JobId{3});
  order.drop(JobId{77});
  EXPECT_EQ(walk(order, 3), (std::vector<std::uint32_t>{5, 4}));
  EXPECT_EQ(order.size(), 4U);
}

double by_slots(const Job& job) { return static_cast<double>(wanted(job)); }
double in_minutes(double seconds, const Order::Parameters& parameters) {
  return std::floor(seconds / parameters[0]);
}

TEST(WaitingOrder, HasPriorityFirstOnlyWhereNothingElseIs) {
  WaitingOrder order({.measure = expected, .need = wanted, .first = by_slots});
  for (const Job& job : {waiting(1, 10, 4, 90), waiting(2, 30, 1, 10), waiting(3, 20, 1, 10)})
    order.put(job);
  EXPECT_EQ(walk(order, 8), (std::vector<std::uint32_t>{3, 2, 1}));
}

TEST(WaitingOrder, GoesByWhatCountsOfTheMeasure) {
  WaitingOrder order(
      {.measure = expected, .need = wanted, .parameters = {60}, .counts = in_minutes});
  for (const Job& job : {waiting(1, 59, 1), waiting(2, 10, 1), waiting(3, 61, 1)}) order.put(job);
  EXPECT_EQ(walk(order, 8), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(WaitingOrder, WalksOnWithLessRoomAndFromAPlace) {
  WaitingOrder order({expected, wanted});
  std::vector<Job> jobs = {waiting(1, 10, 4), waiting(2, 20, 4), waiting(3, 30, 1),
                           waiting(4, 40, 2)};
  for (const Job& job : jobs) order.put(job);
  auto shrinking = order.walk();
  EXPECT_EQ(shrinking.next(4)->job, JobId{1});
  EXPECT_EQ(shrinking.next(2)->job, JobId{3});
  EXPECT_EQ(shrinking.next(1), nullptr);
  auto later = order.walk_after(order_key(order.order(), jobs[1]));
  EXPECT_EQ(later.next(4)->job, JobId{3});
  EXPECT_EQ(later.next(4)->job, JobId{4});
  EXPECT_EQ(later.next(4), nullptr);
}

RC_GTEST_PROP(WaitingOrder, IsASortOfThoseThatFit, ()) {
  WaitingOrder order({expected, wanted});
  std::vector<Job> jobs;
  const auto count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    jobs.push_back(waiting(static_cast<std::uint32_t>(i + 1), *rc::gen::inRange(1, 6),
                           *rc::gen::inRange(1, 6), *rc::gen::inRange(49, 52)));
    order.put(jobs.back());
  }
  const auto slots = *rc::gen::inRange(0, 7);
  std::erase_if(jobs, [&](const Job& job) { return wanted(job) > slots; });
  std::sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) {
    return order_key(order.order(), a) < order_key(order.order(), b);
  });
  std::vector<std::uint32_t> ids;
  for (const Job& job : jobs) ids.push_back(job.id.value);
  RC_ASSERT(walk(order, slots) == ids);
}

}  // namespace
}  // namespace paceline
