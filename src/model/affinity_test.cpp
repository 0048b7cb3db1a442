#include "model/affinity.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Affinity, ReadsWhatItWrites) {
  for (const auto* text :
       {"label:disk=nvme", "label:disk", "label:disk=nvme~10m", "job:prep", "job:prep*:rack",
        "job:prep~", "self", "self:rack", "self:switch~90s", "label:a=b~2h", "self~3d"}) {
    const auto affinity = parse_affinity(text, false);
    ASSERT_TRUE(affinity.has_value()) << text;
    EXPECT_EQ(to_string(*affinity), text);
  }
}

TEST(Affinity, KnowsItsParts) {
  const auto term = parse_affinity("job:prep*:rack~10m", true).value();
  EXPECT_TRUE(term.anti);
  EXPECT_EQ(term.to, AffinityTo::job);
  EXPECT_EQ(term.name, "prep*");
  EXPECT_EQ(term.reach, Reach::rack);
  EXPECT_EQ(term.give_up_after, std::chrono::minutes{10});
  EXPECT_FALSE(term.required());
  EXPECT_TRUE(parse_affinity("self", false)->required());
}

TEST(Affinity, RefusesWhatItCannotReadAndNamesTheForms) {
  for (const auto* text :
       {"", "disk=nvme", "label:", "label:=x", "label:disk=", "job:", "job::rack", "job:a:pod",
        "self:pod", "selfish", "job:a:rack:node", "label:a~x", "label:a~-1m", "label:a~1y"}) {
    const auto affinity = parse_affinity(text, false);
    ASSERT_FALSE(affinity.has_value()) << text;
    EXPECT_EQ(affinity.error().code, ErrorCode::invalid);
    EXPECT_NE(affinity.error().hint.find("label:KEY"), std::string::npos);
  }
}

TEST(Affinity, MatchesNamesUpToAStar) {
  EXPECT_TRUE(name_matches("prep", "prep"));
  EXPECT_FALSE(name_matches("prep", "prep-1"));
  EXPECT_TRUE(name_matches("prep*", "prep-1"));
  EXPECT_TRUE(name_matches("*", "anything"));
}

}  // namespace
}  // namespace paceline
