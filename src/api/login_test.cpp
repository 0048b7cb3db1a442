#include "api/login.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using namespace std::chrono_literals;

class LoginNamesTest : public ::testing::Test {
 protected:
  std::string name() { return names_.of(1000, now_); }

  std::optional<Login> account_;
  int asked_ = 0;
  Time now_;
  LoginNames names_{[this](std::uint32_t) {
    ++asked_;
    return account_;
  }};
};

TEST_F(LoginNamesTest, ANameHoldsForAMinute) {
  account_ = Login{"dave", 1000, "", ""};
  EXPECT_EQ(name(), "dave");
  account_ = Login{"erin", 1000, "", ""};
  now_ += 59s;
  EXPECT_EQ(name(), "dave");
  EXPECT_EQ(asked_, 1);
  now_ += 1s;
  EXPECT_EQ(name(), "erin") << "who has the number by now";
}

TEST_F(LoginNamesTest, WhoIsNotFoundIsAskedForAgainSoon) {
  EXPECT_EQ(name(), "1000");
  EXPECT_EQ(name(), "1000");
  EXPECT_EQ(asked_, 1);
  account_ = Login{"carol", 1000, "", ""};
  now_ += 1s;
  EXPECT_EQ(name(), "carol");
}

TEST_F(LoginNamesTest, WhoHadANameKeepsItWhileNoneIsFound) {
  account_ = Login{"carol", 1000, "", ""};
  EXPECT_EQ(name(), "carol");
  account_.reset();
  now_ += 1h;
  EXPECT_EQ(name(), "carol");
  account_ = Login{"frank", 1000, "", ""};
  now_ += 1s;
  EXPECT_EQ(name(), "frank");
}

TEST_F(LoginNamesTest, AreBounded) {
  for (std::uint32_t uid = 0; uid < 3 * kLoginsMax; ++uid)
    EXPECT_EQ(names_.of(uid, now_), std::to_string(uid));
}

}  // namespace
}  // namespace paceline
