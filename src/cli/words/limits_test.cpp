#include "model/limits.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/words/text_file.hpp"

namespace paceline {
namespace {

TEST(Limits, AreToldWithTheirDefaultsOnTheirPage) {
  const auto page = read_text_file("docs/limits.md", 1 << 20, "page", "");
  ASSERT_TRUE(page.has_value()) << page.error().message;
  for (const auto& limit : kLimits) {
    const auto row = fmt::format("| `{}` | {} | {} |", limit.name,
                                 limit_text(limit.unit, Limits{}.*(limit.value)), limit.what);
    EXPECT_THAT(*page, ::testing::HasSubstr(row));
  }
}

TEST(Limits, HaveDefaultsWithinTheirBoundsAndNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto& limit : kLimits) {
    EXPECT_TRUE(names.insert(limit.name).second) << limit.name;
    EXPECT_EQ(find_limit(limit.name), &limit);
    EXPECT_GE(Limits{}.*(limit.value), limit.min) << limit.name;
    EXPECT_LE(Limits{}.*(limit.value), limit.max) << limit.name;
  }
  EXPECT_EQ(find_limit("frob"), nullptr);
}

TEST(Limits, AreWrittenAsTheyAreSet) {
  EXPECT_EQ(limit_text(LimitUnit::count, 4096), "4096");
  EXPECT_EQ(limit_text(LimitUnit::bytes, 256U << 20), "256M");
  EXPECT_EQ(limit_text(LimitUnit::bytes, 1U << 30), "1G");
  EXPECT_EQ(limit_text(LimitUnit::bytes, 1000), "1000");
  EXPECT_EQ(limit_text(LimitUnit::seconds, 7 * 24 * 3600), "7d");
  EXPECT_EQ(limit_text(LimitUnit::seconds, 90), "90s");
}

}  // namespace
}  // namespace paceline
