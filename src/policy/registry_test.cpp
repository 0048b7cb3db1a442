#include "policy/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(PolicyRegistry, GivesEachPolicyTheLimitsOfItsParameters) {
  const PolicyRegistry registry;
  for (const PolicyInfo& info : registry.all()) {
    const auto usual = registry.make(info.name, {});
    ASSERT_TRUE(usual) << info.name;
    EXPECT_EQ((*usual)->loss_limits(), LossLimits{}) << info.name;
    EXPECT_EQ(info.defaults.at("min_run"), "10s");
    const auto set =
        registry.make(info.name, {{"stop_loss", "1%"}, {"resize_loss", "5%"}, {"min_run", "2m"}});
    ASSERT_TRUE(set) << info.name;
    EXPECT_EQ((*set)->loss_limits(), (LossLimits{0.01, 0.05, std::chrono::minutes{2}}));
  }
}

TEST(PolicyRegistry, SaysWhichLimitIsWrong) {
  const auto refusal = [](const char* word, const char* value) {
    const auto made = PolicyRegistry().make("fifo", {{word, value}});
    return made ? std::string("taken") : made.error().message;
  };
  EXPECT_THAT(refusal("min_run", "soon"), HasSubstr("min_run: 'soon' is no time"));
  EXPECT_THAT(refusal("min_run", "-5s"), HasSubstr("min_run"));
  EXPECT_THAT(refusal("min_run", "400d"), HasSubstr("min_run"));
  EXPECT_THAT(refusal("stop_loss", "3"), HasSubstr("stop_loss: '3' is no part"));
}

}  // namespace
}  // namespace paceline
