// The order of samples is the Python package's, and any number of ranks shares it out.
#include "paceline/order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

Numbers places(std::uint64_t length, std::uint64_t seed, std::uint64_t epoch, Range range) {
  const Permutation permutation(length, seed, epoch);
  Numbers found;
  for (auto place = range.begin; place < range.end; ++place) found.push_back(permutation.at(place));
  return found;
}

// Literals: what runtime/python/paceline/order.py gives.
TEST(Permutation, IsThatOfThePythonPackage) {
  EXPECT_EQ(places(10, 1, 0, {0, 10}), (Numbers{3, 9, 6, 7, 1, 8, 4, 5, 2, 0}));
  EXPECT_EQ(places(1000, 7, 3, {0, 8}), (Numbers{739, 808, 111, 681, 936, 346, 849, 514}));
  EXPECT_EQ(places(60'000, 0, 2, {59'990, 60'000}),
            (Numbers{11168, 55059, 52563, 31312, 46917, 9146, 5256, 47419, 1349, 27418}));
  EXPECT_EQ(places(1, 5, 5, {0, 1}), Numbers{0});
  EXPECT_EQ(places(2, 5, 5, {0, 2}), (Numbers{0, 1}));
  EXPECT_EQ(seed_of(6400, 3), 520185488U);
  EXPECT_EQ(seed_of(1, 2, 3), 1073581980U);
}

TEST(Permutation, HasEachNumberOnce) {
  for (const std::size_t length : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 1000U, 4097U}) {
    const auto found = places(length, 11, 2, {0, length});
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), length);
    EXPECT_LT(*std::max_element(found.begin(), found.end()), length);
  }
}

TEST(Share, IsAsEvenAsCanBe) {
  EXPECT_EQ(share(10, 0, 3), (Range{0, 3}));
  EXPECT_EQ(share(10, 1, 3), (Range{3, 6}));
  EXPECT_EQ(share(10, 2, 3), (Range{6, 10}));
  EXPECT_EQ(share(1, 0, 2).size() + share(1, 1, 2).size(), 1U);
}

TEST(Pieces, AreAsFewAsItTakes) {
  EXPECT_THAT(pieces({0, 10}, 4), ElementsAre(Range{0, 3}, Range{3, 6}, Range{6, 10}));
  EXPECT_THAT(pieces({5, 9}, 4), ElementsAre(Range{5, 9}));
  EXPECT_THAT(pieces({5, 5}, 4), ElementsAre());
}

TEST(Runs, AreOfOneLength) {
  EXPECT_THAT(runs(10, 4), ElementsAre(Range{0, 4}, Range{4, 8}, Range{8, 10}));
  EXPECT_THAT(runs(8, 4), ElementsAre(Range{0, 4}, Range{4, 8}));
  EXPECT_THAT(runs(3, 4), ElementsAre(Range{0, 3}));
}

// Each epoch by so many ranks as there are then, with a restart in its middle.
TEST(Order, GivesEachSampleOnceAnEpochToAnyNumberOfRanks) {
  const Order::Options options{.length = 103, .batch = 10, .seed = 5};
  Order order(options);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    order.begin(epoch);
    std::multiset<std::size_t> seen;
    for (std::size_t step = 0;; ++step) {
      const auto indices = order.next();
      if (indices.empty()) break;
      const std::size_t ranks = 1 + (epoch + step / 4) % 4;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto mine = share(indices.size(), rank, ranks);
        for (auto i = mine.begin; i < mine.end; ++i) seen.insert(indices[i]);
      }
      order.step(indices.size());
      Order restarted(options);
      restarted.go_to(order.epoch(), order.position());
      order = restarted;
    }
    EXPECT_EQ(seen.size(), 103U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 103U);
  }
}

TEST(Order, LeavesTheLastBatchOutWhereThatIsWanted) {
  Order order({.length = 5, .batch = 2, .shuffle = false, .drop_last = true});
  EXPECT_THAT(order.next(), ElementsAre(0, 1));
  order.step(2);
  EXPECT_THAT(order.next(), ElementsAre(2, 3));
  order.step(2);
  EXPECT_THAT(order.next(), ElementsAre());
}

TEST(Order, RefusesWhatCanHaveNone) {
  const auto why = [](const Order::Options& options) {
    try {
      const Order order(options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(why({.length = 1, .batch = 1}), "");
  EXPECT_THAT(why({.length = 0, .batch = 1}), HasSubstr("no samples"));
  EXPECT_THAT(why({.length = 1, .batch = 0}), HasSubstr("at least one sample"));
  EXPECT_THAT(why({.length = 1, .batch = 2, .drop_last = true}), HasSubstr("never full"));
}

TEST(Order, TellsDifferentOnesApart) {
  const Order one({.length = 5, .batch = 2}), other({.length = 5, .batch = 2, .seed = 1});
  EXPECT_EQ(one.text(), "5 samples in global batches of 2 (seed=0, shuffle=true, drop_last=false)");
  EXPECT_NE(one.text(), other.text());
}

TEST(Order, HasADigestOfTheSamplesNearby) {
  const auto digest = [](const Order::Options& options, std::uint64_t epoch, std::size_t position) {
    Order order(options);
    order.go_to(epoch, position);
    return order.digest();
  };
  const Order::Options one{.length = 5000, .batch = 10, .seed = 1};
  EXPECT_EQ(digest(one, 2, 30), digest({.length = 5000, .batch = 20, .seed = 1}, 2, 30));
  EXPECT_NE(digest(one, 2, 30), digest(one, 2, 40));
  EXPECT_NE(digest(one, 2, 30), digest(one, 1, 30));
  EXPECT_NE(digest(one, 2, 30), digest({.length = 5000, .batch = 10, .seed = 2}, 2, 30));
  EXPECT_NE(digest(one, 2, 30), digest({.length = 5000, .batch = 10, .shuffle = false}, 2, 30));
  EXPECT_NE(digest(one, 2, 0), digest(one, 2, 5000));
}

}  // namespace
}  // namespace paceline
