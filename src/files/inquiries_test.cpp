#include "files/inquiries.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files/held_testing.hpp"

namespace paceline {
namespace {

using Names = Inquiries<std::uint32_t, std::optional<std::string>>;

class InquiriesTest : public ::testing::Test {
 protected:
  InquiriesTest() { service_.tell(7, "ann"); }

  bool is_told(std::uint32_t uid, const std::optional<std::string>& name) {
    return comes_true([&] {
      const auto told = names_->answer(uid);
      return told && *told == name;
    });
  }

  HeldEntries<std::uint32_t, std::string> service_;
  std::optional<Names> names_{std::in_place, service_.find()};
};

TEST_F(InquiriesTest, AreAnswered) {
  EXPECT_TRUE(is_told(7, "ann"));
  EXPECT_TRUE(is_told(8, std::nullopt));
}

TEST_F(InquiriesTest, OneThatHangsIsAskedOnceAndHoldsUpNoOther) {
  service_.hold(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(names_->answer(7), std::nullopt);
  EXPECT_TRUE(is_told(8, std::nullopt));
  EXPECT_EQ(names_->answer(7), std::nullopt);
  service_.release();
  EXPECT_TRUE(is_told(7, "ann"));
}

TEST_F(InquiriesTest, BeyondSoManyNobodyIsAsked) {
  for (std::uint32_t uid = 100; uid < 100 + kInquiriesAtOnce; ++uid) {
    service_.hold(uid);
    EXPECT_EQ(names_->answer(uid), std::nullopt);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(names_->answer(7), std::nullopt);
  EXPECT_TRUE(comes_true([&] { return service_.asked() == static_cast<int>(kInquiriesAtOnce); }));
  service_.release();
  EXPECT_TRUE(is_told(100, std::nullopt));
  EXPECT_TRUE(is_told(7, "ann"));
}

TEST_F(InquiriesTest, OneThatHangsIsLeftBehind) {
  service_.hold(7);
  EXPECT_EQ(names_->answer(7), std::nullopt);
  names_.reset();
}

}  // namespace
}  // namespace paceline
