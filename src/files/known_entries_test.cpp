#include "files/known_entries.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files/held_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using NamesKnown = KnownEntries<std::uint32_t, std::string>;

class KnownEntriesTest : public ::testing::Test {
 protected:
  // "?": nobody knows; "-": there is none.
  std::string name(std::uint32_t uid) {
    const auto found = names_.of(uid, now_);
    return found ? found->value_or("-") : "?";
  }
  bool is_told(std::uint32_t uid, const std::string& wanted) {
    return comes_true([&] { return name(uid) == wanted; });
  }

  HeldEntries<std::uint32_t, std::string> service_;
  NamesKnown names_{service_.find(), {}};
  Time now_;
};

TEST_F(KnownEntriesTest, HoldForAWhile) {
  service_.tell(7, "ann");
  EXPECT_TRUE(is_told(7, "ann"));
  service_.tell(7, "eve");
  now_ += 59s;
  EXPECT_EQ(name(7), "ann");
  EXPECT_EQ(service_.asked(), 1);
  now_ += 1s;
  EXPECT_TRUE(is_told(7, "eve"));
  service_.tell(7, std::nullopt);
  now_ += 1min;
  EXPECT_TRUE(is_told(7, "-"));
  service_.tell(7, "ann");
  now_ += 1s;
  EXPECT_TRUE(is_told(7, "ann")) << "that there is none is asked about again soon";
}

TEST_F(KnownEntriesTest, WhatWasKnownGoesOnWhileTheServiceHangs) {
  service_.tell(7, "ann");
  EXPECT_TRUE(is_told(7, "ann"));
  service_.tell(7, "eve");
  service_.hold(7);
  now_ += 1h;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(name(7), "ann");
  EXPECT_EQ(service_.asked(), 2);
  service_.release();
  EXPECT_TRUE(is_told(7, "eve"));
}

TEST_F(KnownEntriesTest, OfWhomNothingIsKnownIsSaidSo) {
  service_.hold(7);
  const auto found = names_.of(7, now_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unavailable);
  EXPECT_EQ(found.error().retry, Retry::may_help);
  EXPECT_TRUE(is_told(8, "-"));
  service_.release();
  EXPECT_TRUE(is_told(7, "-"));
}

TEST_F(KnownEntriesTest, BeyondSoManyTheOldestMakeRoom) {
  for (std::uint32_t uid = 0; uid < kEntriesMax; ++uid) {
    service_.tell(uid, "ann");
    EXPECT_TRUE(is_told(uid, "ann"));
    now_ += 1us;
  }
  EXPECT_TRUE(is_told(5'000, "-"));
  const int asked = service_.asked();
  EXPECT_EQ(name(1), "ann");
  EXPECT_EQ(service_.asked(), asked);
  EXPECT_TRUE(is_told(0, "ann"));
  EXPECT_GT(service_.asked(), asked);
}

}  // namespace
}  // namespace paceline
