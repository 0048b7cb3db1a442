#include "joining/entrance.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

constexpr WallTime kToday = wall_from_us(1'763'636'100'000'000);
const KeptIdentity kKeptBefore{"gpu-3", {kToday, kToday + std::chrono::hours{300}}};

TEST(Entrance, AMachineThatJoinedGoesOn) {
  EXPECT_EQ(entrance_of(kKeptBefore, "gpu-3", false), Entrance::goes_on);
  EXPECT_EQ(entrance_of(kKeptBefore, "gpu-4", false).error().code, ErrorCode::conflict);
}

TEST(Entrance, WhoHasATokenJoins) {
  EXPECT_EQ(entrance_of({}, "gpu-3", true), Entrance::joins);
  EXPECT_EQ(entrance_of(kKeptBefore, "gpu-3", true), Entrance::joins_again);
  EXPECT_EQ(entrance_of(kKeptBefore, "gpu-4", true), Entrance::joins_again) << "as another node";
  EXPECT_EQ(entrance_of({}, "gpu-3", false).error().code, ErrorCode::invalid);
}

TEST(Entrance, WhatIsKeptWillDoWhileItHoldsAndNamesTheNode) {
  EXPECT_TRUE(may_go_on(kKeptBefore, "gpu-3", kToday));
  EXPECT_FALSE(may_go_on(kKeptBefore, "gpu-4", kToday));
  EXPECT_FALSE(may_go_on(kKeptBefore, "gpu-3", kKeptBefore.validity.until));
}

TEST(Entrance, ACertificateIsAskedForOnceTwoThirdsAreOver) {
  EXPECT_FALSE(wants_another(kKeptBefore, kToday + std::chrono::hours{199}));
  EXPECT_TRUE(wants_another(kKeptBefore, kToday + std::chrono::hours{200}));
  EXPECT_TRUE(wants_another(kKeptBefore, kKeptBefore.validity.until));
}

TEST(Entrance, OneThatRanOutIsToldWithWhatToDo) {
  EXPECT_FALSE(flaw_of(kKeptBefore, kKeptBefore.validity.until - Duration{1}));
  const auto flaw = flaw_of(kKeptBefore, kKeptBefore.validity.until);
  ASSERT_TRUE(flaw);
  EXPECT_THAT(flaw->hint, ::testing::HasSubstr("paceline node remove gpu-3"));
}

}  // namespace
}  // namespace paceline
