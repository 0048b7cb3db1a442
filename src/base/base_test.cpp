#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/nearest.hpp"
#include "base/points.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/sort_again.hpp"
#include "base/time.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"fifo", "elastic-fifo", "round-robin",
                                                       "las"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("fif", kPolicies), "fifo");
  EXPECT_EQ(nearest("elastic_fifo", kPolicies), "elastic-fifo");
  EXPECT_EQ(nearest("ruond-robin", kPolicies), "round-robin");
  EXPECT_EQ(nearest("lsa", kPolicies), "las");
}

TEST(Nearest, KeepsQuietWhereNothingIsNear) {
  EXPECT_EQ(nearest("gandiva", kPolicies), std::nullopt);
  EXPECT_EQ(nearest("", kPolicies), std::nullopt);
  EXPECT_EQ(nearest("fifo", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kPolicies), std::nullopt);
}

TEST(Nearest, TakesTheFirstOfEquals) {
  constexpr std::array<std::string_view, 2> kWords = {"cat", "bat"};
  EXPECT_EQ(nearest("rat", kWords), "cat");
}

// The generator's numbers are part of every seed that was ever written down.
TEST(Rng, GivesTheSameNumbersEverywhere) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 1546998764402558742ULL);
  EXPECT_EQ(rng.next(), 6990951692964543102ULL);
  Rng same(42), other(43);
  EXPECT_EQ(same.next(), 1546998764402558742ULL);
  EXPECT_NE(other.next(), 1546998764402558742ULL);
}

TEST(Rng, StaysInItsBoundsAndReachesThem) {
  Rng rng(7);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(6));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  for (int i = 0; i < 1000; ++i) {
    const auto v = rng.between(-2, 2);
    EXPECT_TRUE(v >= -2 && v <= 2);
    const double u = rng.uniform();
    EXPECT_TRUE(u >= 0 && u < 1);
  }
  EXPECT_EQ(rng.between(5, 5), 5);
  EXPECT_EQ(rng.below(1), 0U);
  rng.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(rng.chance(0));
  EXPECT_TRUE(rng.chance(1));
}

TEST(RngDeathTest, NeedsARange) {
  EXPECT_DEATH(Rng(1).below(0), "positive bound");
  EXPECT_DEATH(Rng(1).between(2, 1), "low <= high");
}

// FNV-1a of the eight bytes of 1, little end first, and of nothing.
TEST(Digest, IsFnv1a) {
  EXPECT_EQ(Digest().value(), 0xcbf29ce484222325ULL);
  EXPECT_EQ(Digest().add(std::uint64_t{1}).value(), 0x89cd31291d2aefa4ULL);
}

TEST(Digest, TellsBorderAndOrderApart) {
  const auto of = [](std::string_view a, std::string_view b) {
    return Digest().add(a).add(b).value();
  };
  EXPECT_EQ(of("ab", "c"), of("ab", "c"));
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
  EXPECT_NE(of("a", "b"), of("b", "a"));
  EXPECT_NE(Digest().add(0.0).value(), Digest().add(-0.0).value());
}

RC_GTEST_PROP(Time, SurvivesSecondsToTheMicrosecond, ()) {
  const Duration d{*rc::gen::inRange<std::int64_t>(-4'000'000'000'000'000, 4'000'000'000'000'000)};
  RC_ASSERT(from_seconds(to_seconds(d)) == d);
}

TEST(Check, PassesQuietlyAndDiesWithThePlace) {
  check(true, "never seen");
  EXPECT_DEATH(check(1 > 2, "one is larger"), "check failed: one is larger .*base_test.cpp:");
}

// Not in tests alone: the program that is shipped is built with the same flags.
TEST(StandardLibraryDeathTest, EndsTheProcessForAnIndexThatIsOutOfRange) {
  const std::vector<int> three(3);
  volatile std::size_t fourth = 3;
  EXPECT_DEATH(static_cast<void>(three[fourth]), "size\\(\\)");
}

TEST(Result, CarriesAnErrorWithItsHint) {
  const Result<int> result = fail(ErrorCode::conflict, "No.", "Ask again.", Retry::may_help);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{ErrorCode::conflict, "No.", "Ask again.", Retry::may_help}));
}

TEST(Points, AreLinearInBetweenAndFlatBeyond) {
  const Points<std::int32_t> points{{2, 1.0}, {4, 3.0}, {8, 4.0}};
  EXPECT_EQ(value_at(points, 1), 1);
  EXPECT_EQ(value_at(points, 3), 2);
  EXPECT_EQ(value_at(points, 4), 3);
  EXPECT_EQ(value_at(points, 5), 3.25);
  EXPECT_EQ(value_at(points, 9), 4);
}

RC_GTEST_PROP(SortAgain, SortsWhateverItIsGiven, (std::vector<int> values)) {
  auto expected = values;
  std::sort(expected.begin(), expected.end());
  sort_again(values.begin(), values.end(), std::less<>{});
  RC_ASSERT(values == expected);
}

TEST(SortAgain, LooksAtAFewMoreThanThereAreWhereAFewHaveMoved) {
  constexpr int kValues = 1'000;
  std::vector<int> values(kValues);
  std::iota(values.begin(), values.end(), 0);
  values.push_back(500);
  values[10] = 12;
  int asked = 0;
  sort_again(values.begin(), values.end(), [&](int a, int b) { return ++asked, a < b; });
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LT(asked, 2 * kValues);
}

TEST(SortAgain, IsNotQuadraticWhereNothingIsInOrder) {
  constexpr int kValues = 10'000;
  std::vector<int> values(kValues);
  std::iota(values.rbegin(), values.rend(), 0);
  std::int64_t asked = 0;
  sort_again(values.begin(), values.end(), [&](int a, int b) { return ++asked, a < b; });
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LT(asked, 100 * kValues);
}

}  // namespace
}  // namespace paceline
