#include "link/backoff.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;

void expect_about(milliseconds wait, milliseconds middle) {
  EXPECT_GE(wait, middle / 2);
  EXPECT_LE(wait, middle * 3 / 2);
}

TEST(Backoff, PausesDoubleUpToTheLongest) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff({milliseconds{200}, milliseconds{1'000}}, seed);
    for (const int middle : {200, 400, 800, 1'000, 1'000})
      expect_about(backoff.next(), milliseconds{middle});
  }
}

TEST(Backoff, ARefusalMeansTheLongestUntilItIsReset) {
  Backoff backoff({}, 1);
  expect_about(backoff.longest(), milliseconds{30'000});
  expect_about(backoff.next(), milliseconds{30'000});
  backoff.reset();
  expect_about(backoff.next(), milliseconds{200});
}

TEST(Backoff, TwoOfThemDontWaitForTheSameTime) {
  Backoff one({}, 1), other({}, 2);
  int same = 0;
  for (int i = 0; i < 20; ++i) same += one.next() == other.next() ? 1 : 0;
  EXPECT_LT(same, 5);
}

}  // namespace
}  // namespace paceline
