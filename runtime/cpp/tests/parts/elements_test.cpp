#include "elements.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace paceline::runtime {
namespace {

template <class T>
std::vector<T> combined(const std::vector<T>& a, const std::vector<T>& b, paceline_type type,
                        paceline_op op) {
  std::vector<T> into(a.size());
  combine(reinterpret_cast<std::byte*>(into.data()), reinterpret_cast<const std::byte*>(a.data()),
          reinterpret_cast<const std::byte*>(b.data()), a.size(), type, op);
  return into;
}

float of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The nearest of all that the type has, with ties to the even one.
std::uint16_t nearest_bfloat16(double value) {
  std::uint16_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const double here =
        std::abs(static_cast<double>(of_bfloat16(static_cast<std::uint16_t>(bits))) - value);
    if (here < distance || (here == distance && bits % 2 == 0)) {
      best = static_cast<std::uint16_t>(bits);
      distance = here;
    }
  }
  return best;
}

TEST(Elements, SumsOfBFloat16AreRoundedToTheNearest) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const std::vector<std::uint16_t> a{static_cast<std::uint16_t>(0x3f00 + random() % 0x200)},
        b{static_cast<std::uint16_t>(0x3f00 + random() % 0x200)};
    const double exact =
        static_cast<double>(of_bfloat16(a[0])) + static_cast<double>(of_bfloat16(b[0]));
    EXPECT_EQ(combined(a, b, PACELINE_BFLOAT16, PACELINE_SUM)[0], nearest_bfloat16(exact))
        << a[0] << " + " << b[0];
  }
}

TEST(Elements, HalvesGoOverIntoInfinityAndKeepNaNs) {
  const std::vector<std::uint16_t> greatest{0x7bff, 0x7bff, 0x7e00}, more{0x7bff, 0x0001, 0x0000};
  const auto sums = combined(greatest, more, PACELINE_FLOAT16, PACELINE_SUM);
  EXPECT_EQ(sums[0], 0x7c00);
  EXPECT_EQ(sums[1], 0x7bff);
  EXPECT_GT(sums[2] & 0x7fff, 0x7c00);
  const std::vector<std::uint16_t> nan{0x7fc0, 0x7f80}, one{0x3f80, 0xff80};
  const auto bf = combined(nan, one, PACELINE_BFLOAT16, PACELINE_SUM);
  EXPECT_TRUE(std::isnan(of_bfloat16(bf[0])));
  EXPECT_TRUE(std::isnan(of_bfloat16(bf[1]))) << "infinity less infinity";
}

TEST(Elements, SumsOfWholeNumbersWrapAround) {
  EXPECT_EQ(combined<std::int8_t>({127}, {1}, PACELINE_INT8, PACELINE_SUM)[0], -128);
  EXPECT_EQ(combined<std::uint8_t>({255}, {2}, PACELINE_UINT8, PACELINE_SUM)[0], 1);
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(combined<std::int64_t>({greatest}, {1}, PACELINE_INT64, PACELINE_SUM)[0],
            std::numeric_limits<std::int64_t>::min());
}

TEST(Elements, MeansOverMoreRanksThanTheTypeCounts) {
  std::vector<std::int8_t> sums{100, -100};
  divide(reinterpret_cast<std::byte*>(sums.data()), sums.size(), PACELINE_INT8, 300);
  EXPECT_EQ(sums, (std::vector<std::int8_t>{0, 0}));
}

// Whatever the processor's width, and where the data begin.
TEST(Elements, EveryLengthAndPlaceGivesTheSame) {
  std::mt19937 random(2);
  std::vector<float> a(200), b(200);
  for (auto* each : {&a, &b})
    for (auto& value : *each) value = static_cast<float>(random()) - 2e9F;
  for (std::size_t begin = 0; begin < 20; ++begin)
    for (std::size_t count = 0; count < 100; ++count) {
      std::vector<float> into = b;
      combine(reinterpret_cast<std::byte*>(into.data() + begin),
              reinterpret_cast<const std::byte*>(a.data() + begin),
              reinterpret_cast<const std::byte*>(into.data() + begin), count, PACELINE_FLOAT32,
              PACELINE_SUM);
      for (std::size_t i = 0; i < into.size(); ++i)
        ASSERT_EQ(into[i], i >= begin && i < begin + count ? a[i] + b[i] : b[i]);
    }
}

}  // namespace
}  // namespace paceline::runtime
