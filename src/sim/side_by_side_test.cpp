#include "sim/side_by_side.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace paceline::sim {
namespace {

TEST(SideBySide, DoesEachPieceOnce) {
  for (const unsigned threads : {0U, 1U, 3U, 50U}) {
    std::vector<std::atomic<int>> done(20);
    side_by_side(done.size(), threads, [&](std::size_t i) {
      ++done[i];
      return true;
    });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(SideBySide, HasNothingToDoWithoutPieces) {
  side_by_side(0, 2, [](std::size_t) {
    ADD_FAILURE();
    return true;
  });
}

TEST(SideBySide, BeginsNoMoreOnceOneSaysNo) {
  std::vector<std::size_t> begun;
  side_by_side(10, 1, [&](std::size_t i) {
    begun.push_back(i);
    return i < 3;
  });
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace paceline::sim
