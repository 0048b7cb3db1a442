// Sums whose order is that of the ranks.
#include "paceline/torch/in_turn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "gang.hpp"
#include "paceline/order.hpp"

namespace paceline::testing {
namespace {

using Numbers = std::vector<float>;

// Parts of very different sizes: in another order their sum is another one.
std::vector<Numbers> parts_of(std::size_t count) {
  std::mt19937 chance(1);
  std::vector<Numbers> parts(count, Numbers(1000));
  for (auto& part : parts)
    for (auto& each : part)
      each = std::ldexp(static_cast<float>(chance() % 2000) - 1000.0F,
                        static_cast<int>(chance() % 30));
  return parts;
}

void add(Numbers& total, const Numbers& part) {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

// What each of so many ranks comes to.
std::vector<Numbers> totals(const std::vector<Numbers>& parts, int ranks) {
  std::vector<Numbers> found(static_cast<std::size_t>(ranks));
  const Gang gang(ranks, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto mine = share(parts.size(), rank, static_cast<std::size_t>(ranks));
    Numbers total(1000, group.rank() == 0 ? 3.0F : -1.0F);
    detail::in_turn(group, std::as_writable_bytes(std::span(total)), [&] {
      for (auto i = mine.begin; i < mine.end; ++i) add(total, parts[i]);
    });
    found[rank] = total;
  });
  return found;
}

TEST(InTurn, TheSumIsTheSameBitsOnAnyNumberOfRanks) {
  const auto parts = parts_of(7);
  Numbers wanted(1000, 3.0F);
  for (const auto& each : parts) add(wanted, each);
  auto reversed = Numbers(1000, 3.0F);
  for (auto each = parts.rbegin(); each != parts.rend(); ++each) add(reversed, *each);
  EXPECT_NE(wanted, reversed);
  for (const int ranks : {1, 2, 3, 9})
    for (const auto& each : totals(parts, ranks)) EXPECT_EQ(each, wanted) << ranks << " ranks";
}

}  // namespace
}  // namespace paceline::testing
