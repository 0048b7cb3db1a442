#include "model/free_slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace paceline {
namespace {

using ::testing::ElementsAre;

FreeSlots with_nodes(const std::vector<std::uint32_t>& free_counts) {
  FreeSlots free;
  for (std::uint32_t n = 0; n < free_counts.size(); ++n) {
    free.add_node(NodeId{n}, 8);
    for (std::uint32_t i = 0; i < free_counts[n]; ++i) free.set_free({NodeId{n}, i}, true);
  }
  return free;
}

TEST(FreeSlots, BeginsWithNothingFree) {
  FreeSlots free;
  free.add_node(NodeId{0}, 4);
  EXPECT_EQ(free.total(), 0U);
  EXPECT_EQ(free.best_fit(1), std::nullopt);
  EXPECT_EQ(free.emptiest(1), std::nullopt);
  EXPECT_EQ(free.next_from(NodeId{0}, 1), std::nullopt);
}

TEST(FreeSlots, FindsTheTightestTheEmptiestAndTheNextNode) {
  const FreeSlots free = with_nodes({2, 5, 3, 5, 0});
  EXPECT_EQ(free.best_fit(1), NodeId{0});
  EXPECT_EQ(free.best_fit(3), NodeId{2});
  EXPECT_EQ(free.best_fit(4), NodeId{1});  // of two equals the lower id
  EXPECT_EQ(free.best_fit(6), std::nullopt);
  EXPECT_EQ(free.emptiest(1), NodeId{1});
  EXPECT_EQ(free.emptiest(6), std::nullopt);
  EXPECT_EQ(free.next_from(NodeId{2}, 4), NodeId{3});
  EXPECT_EQ(free.next_from(NodeId{4}, 1), std::nullopt);
}

TEST(FreeSlots, GrowsWithItsNode) {
  FreeSlots free = with_nodes({8});
  free.add_node(NodeId{0}, 10);
  EXPECT_EQ(free.free_on(NodeId{0}), 8U);
  free.set_free({NodeId{0}, 9}, true);
  free.set_free({NodeId{0}, 0}, false);
  EXPECT_THAT(free.first_free(NodeId{0}, 8), ElementsAre(1, 2, 3, 4, 5, 6, 7, 9));
}

// The same questions answered by looking at every slot.
struct Naive {
  std::vector<std::vector<bool>> nodes;

  std::uint32_t count(std::size_t n) const {
    return static_cast<std::uint32_t>(std::count(nodes[n].begin(), nodes[n].end(), true));
  }
  template <class Better>
  std::optional<NodeId> best(std::uint32_t least, std::size_t from, Better better) const {
    std::optional<NodeId> found;
    for (std::size_t n = from; n < nodes.size(); ++n) {
      if (count(n) < least) continue;
      if (!found || better(count(n), count(found->value)))
        found = NodeId{static_cast<std::uint32_t>(n)};
    }
    return found;
  }
};

void expect_same(const FreeSlots& free, const Naive& naive) {
  std::uint64_t total = 0;
  for (std::uint32_t n = 0; n < naive.nodes.size(); ++n) {
    total += naive.count(n);
    RC_ASSERT(free.free_on(NodeId{n}) == naive.count(n));
    for (std::uint32_t i = 0; i < naive.nodes[n].size(); ++i)
      RC_ASSERT(free.is_free({NodeId{n}, i}) == naive.nodes[n][i]);
    for (std::uint32_t least = 1; least <= 5; ++least) {
      RC_ASSERT(free.next_from(NodeId{n}, least) ==
                naive.best(least, n, [](auto, auto) { return false; }));
    }
  }
  RC_ASSERT(free.total() == total);
  for (std::uint32_t least = 1; least <= 5; ++least) {
    RC_ASSERT(free.best_fit(least) == naive.best(least, 0, std::less<>{}));
    RC_ASSERT(free.emptiest(least) == naive.best(least, 0, std::greater<>{}));
  }
}

void do_some(FreeSlots& free, Naive& naive) {
  const auto count = *rc::gen::inRange(0, 20);
  FreeSlots::Changes changes(free);
  for (int i = 0; i < count; ++i) {
    const auto node =
        *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(naive.nodes.size()));
    const auto slot =
        *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(naive.nodes[node].size()));
    const bool value = *rc::gen::arbitrary<bool>();
    changes.set({NodeId{node}, slot}, value);
    naive.nodes[node][slot] = value;
  }
}

RC_GTEST_PROP(FreeSlots, AnswersAsIfItLookedAtEverySlotInsideAndAfterWhatIfs, ()) {
  FreeSlots free;
  Naive naive;
  const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 7);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 7);
    free.add_node(NodeId{n}, slots);
    naive.nodes.emplace_back(slots, false);
  }
  do_some(free, naive);
  expect_same(free, naive);
  std::vector<std::pair<FreeSlots::Mark, Naive>> marks;
  for (int depth = *rc::gen::inRange(1, 4); depth > 0; --depth) {
    marks.emplace_back(free.mark(), naive);
    do_some(free, naive);
    expect_same(free, naive);
  }
  while (!marks.empty()) {
    const auto back =
        static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(marks.size())));
    free.rewind(marks[back].first);
    naive = marks[back].second;
    expect_same(free, naive);
    marks.resize(back);
  }
  free.end_what_if();
}

TEST(FreeSlotsDeathTest, RefusesWhatItsHeaderRules) {
  FreeSlots free = with_nodes({2});
  EXPECT_DEATH((void)free.first_free(NodeId{0}, 3), "that many free slots");
  EXPECT_DEATH(free.set_free({NodeId{0}, 8}, true), "the slot exists");
  EXPECT_DEATH(free.rewind(0), "inside its what-if");
  free.mark();
  free.set_free({NodeId{0}, 0}, false);
  EXPECT_DEATH(free.end_what_if(), "ends rewound");
  EXPECT_DEATH(free.add_node(NodeId{1}, 1), "not added inside a what-if");
}

}  // namespace
}  // namespace paceline
