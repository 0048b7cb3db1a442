// Who lacks what where a generation begins.
#include "paceline/torch/acts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang.hpp"

namespace paceline::testing {
namespace {

using detail::Acts;
using detail::Comparison;
using ::testing::ElementsAre;

// Of ranks that had done so many acts.
std::vector<Acts> acts_of(std::initializer_list<int> counts) {
  std::vector<Acts> all;
  for (const int count : counts) {
    all.emplace_back(false);
    for (int i = 0; i < count; ++i) all.back().done("of " + std::to_string(i + 1));
  }
  return all;
}

struct Who {
  int stops = -1, is_away = -1;  // a rank; -1: none
};

std::vector<Comparison> compared(const std::vector<Acts>& all, const Who& who = {}) {
  std::vector<Comparison> found(all.size());
  const Gang gang(static_cast<int>(all.size()), [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    found[rank] = all[rank].compare(group, {.stops = group.rank() == who.stops,
                                            .is_away = group.rank() == who.is_away,
                                            .ranks = 10 + group.rank(),
                                            .record = "of rank " + std::to_string(group.rank())});
  });
  return found;
}

TEST(Acts, OfTheLowestRankThatDidMostCount) {
  for (const auto& each : compared(acts_of({2, 3, 3}))) {
    EXPECT_EQ(each.root, 1);
    EXPECT_EQ(each.its.acts, 3);
    EXPECT_EQ(each.its.ranks, 11);
    EXPECT_EQ(each.its.result, "of 3");
    EXPECT_EQ(each.its.record, "of rank 1");
    EXPECT_FALSE(each.some_join);
    EXPECT_FALSE(each.stops);
  }
}

TEST(Acts, OfOneWhoKnowsThatTheModelIsGoodEnoughTellTheOthers) {
  for (const auto& each : compared(acts_of({1, 1}), {.stops = 1})) EXPECT_TRUE(each.stops);
}

TEST(Acts, OfNewcomersAreNone) {
  auto all = acts_of({4, 4});
  all.emplace_back(true);
  for (const auto& each : compared(all)) {
    EXPECT_EQ(each.root, 0);
    EXPECT_THAT(each.lacking, ElementsAre(false, false, true));
    EXPECT_TRUE(each.some_join);
    EXPECT_FALSE(each.newcomers_wait);
  }
  const auto its = compared(all)[2].its;
  EXPECT_EQ(all[2].catch_up(its), 0);
  EXPECT_EQ(all[2].count(), 4);
  EXPECT_EQ(all[2].result(), "of 4");
  EXPECT_FALSE(all[2].joins());
}

TEST(Acts, OfOthersComeBeforeThoseOfNewcomers) {
  auto all = acts_of({5, 4});
  all[1].make_void(30, false);
  all.emplace_back(true);
  for (const auto& each : compared(all, {.is_away = 0})) {
    EXPECT_TRUE(each.newcomers_wait);
    EXPECT_THAT(each.lacking, ElementsAre(false, true, false));
  }
  all.pop_back();
  for (const auto& each : compared(all, {.is_away = 0})) EXPECT_FALSE(each.newcomers_wait);
}

TEST(Acts, ThatAreBehindWithAStepLackItsState) {
  auto all = acts_of({5, 4});
  all[1].make_void(30, false);
  const auto found = compared(all);
  EXPECT_THAT(found[0].lacking, ElementsAre(false, true));
  EXPECT_EQ(all[1].catch_up(found[1].its), 30);
  EXPECT_EQ(all[0].catch_up(found[0].its), 0);
  EXPECT_EQ(all[1].count(), 5);
}

TEST(Acts, ThatAreBehindWithAnEvaluationLackNoState) {
  auto all = acts_of({4, 5});
  const auto found = compared(all);
  EXPECT_THAT(found[0].lacking, ElementsAre(false, false));
  EXPECT_EQ(all[0].catch_up(found[0].its), 0);
  EXPECT_EQ(all[0].result(), "of 5");
}

TEST(Acts, OfAStepThatIsVoidEverywhereAreRepeated) {
  auto all = acts_of({4, 4});
  for (auto& each : all) each.make_void(30, false);
  const auto found = compared(all);
  EXPECT_THAT(found[0].lacking, ElementsAre(false, false));
  for (auto& each : all) EXPECT_EQ(each.catch_up(found[0].its), 0);
}

TEST(Acts, WithATornStateAreNone) {
  auto all = acts_of({4, 4, 4});
  all[0].make_void(30, true);
  all[2].begin_copy();
  const auto found = compared(all);
  EXPECT_EQ(found[0].root, 1);
  EXPECT_THAT(found[0].lacking, ElementsAre(true, false, true));
  all[0].catch_up(found[0].its);
  EXPECT_EQ(compared(all)[0].root, 0);
}

TEST(Acts, EndWhereNobodyHasAWholeState) {
  auto all = acts_of({4, 4});
  for (auto& each : all) each.make_void(30, true);
  const Gang gang(2, [&](Group& group) {
    const auto& own = all[static_cast<std::size_t>(group.rank())];
    EXPECT_THROW(static_cast<void>(own.compare(group, {})), PacelineError);
  });
}

}  // namespace
}  // namespace paceline::testing
