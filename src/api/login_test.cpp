#include "api/login.hpp"

#include <gtest/gtest.h>

#include "files/held_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;

class LoginNamesTest : public ::testing::Test {
 protected:
  bool is_called(const std::string& name) {
    return comes_true([&] { return names_.of(1000, now_) == name; });
  }

  HeldEntries<std::uint32_t, Login> service_;
  Time now_;
  LoginNames names_{service_.find()};
};

TEST_F(LoginNamesTest, ANameHoldsForAMinute) {
  service_.tell(1000, Login{"dave", 1000, "", ""});
  EXPECT_TRUE(is_called("dave"));
  service_.tell(1000, Login{"erin", 1000, "", ""});
  now_ += 59s;
  EXPECT_TRUE(is_called("dave"));
  EXPECT_EQ(service_.asked(), 1);
  now_ += 1s;
  EXPECT_TRUE(is_called("erin")) << "who has the number by now";
}

TEST_F(LoginNamesTest, WhoIsNotFoundIsAskedForAgainSoon) {
  EXPECT_TRUE(is_called("1000"));
  EXPECT_TRUE(is_called("1000"));
  EXPECT_EQ(service_.asked(), 1);
  service_.tell(1000, Login{"carol", 1000, "", ""});
  now_ += 1s;
  EXPECT_TRUE(is_called("carol"));
}

TEST_F(LoginNamesTest, WhoHadANameKeepsItWhileNoneIsFound) {
  service_.tell(1000, Login{"carol", 1000, "", ""});
  EXPECT_TRUE(is_called("carol"));
  service_.tell(1000, std::nullopt);
  now_ += 1h;
  for (int i = 0; i < 10; ++i, now_ += 1h) EXPECT_TRUE(is_called("carol"));
  service_.tell(1000, Login{"frank", 1000, "", ""});
  now_ += 1s;
  EXPECT_TRUE(is_called("frank"));
}

TEST_F(LoginNamesTest, WhomNobodyKnowsNowHasNone) {
  service_.hold(1000);
  EXPECT_EQ(names_.of(1000, now_).error().code, ErrorCode::unavailable);
  service_.release();
  EXPECT_TRUE(is_called("1000"));
}

}  // namespace
}  // namespace paceline
