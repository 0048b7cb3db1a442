#include "agent/linux/gang_news.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace paceline::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class GangNewsTest : public ::testing::Test {
 protected:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> told_;  // ready, stands
  GangNews news_{7, [this](Generation ready, Generation stands) {
                   told_.emplace_back(ready.value, stands.value);
                 }};
};

TEST_F(GangNewsTest, WhatAWorkerSaysIsToldOnce) {
  for (const char* said : {R"({"ready": 4})", R"({"ready": 4})", R"({"stands": 4})",
                           R"({"ready": 5, "stands": 4, "more": true})"})
    EXPECT_EQ(news_.say(said).status, 200) << said;
  EXPECT_THAT(told_, ElementsAre(Pair(4, 0), Pair(4, 4), Pair(5, 4)));
}

TEST_F(GangNewsTest, RanksThatStandHaveMet) {
  news_.say(R"({"ready": 5})");
  EXPECT_FALSE(news_.has_met());
  news_.say(R"({"stands": 5})");
  EXPECT_TRUE(news_.has_met()) << "they say it once more to an agent that begins anew";
}

TEST_F(GangNewsTest, ThatRanksMetIsKnownHereAlone) {
  EXPECT_FALSE(news_.has_met());
  EXPECT_EQ(news_.say(R"({"met": 4})").status, 200);
  EXPECT_TRUE(news_.has_met());
  news_.say(R"({"ready": 5})");
  EXPECT_TRUE(news_.has_met());
  EXPECT_THAT(told_, ElementsAre(Pair(5, 0)));
}

TEST_F(GangNewsTest, WhatMakesNoSenseIsOneSentenceAndChangesNothing) {
  for (const char* said : {"", "{", "[]", "7", R"("ready")", "{}", R"({"generation": 4})"}) {
    const auto answer = news_.say(said);
    EXPECT_EQ(answer.status, 400) << said;
    EXPECT_THAT(answer.body, HasSubstr("POST /v1/gang takes")) << said;
  }
  for (const char* number : {"-1", "4294967296", "1.5", "null", R"("4")", "[4]"}) {
    for (const char* word : {"ready", "met", "stands"}) {
      const auto answer = news_.say("{\"" + std::string(word) + "\": " + number + "}");
      EXPECT_EQ(answer.status, 400) << word << number;
      EXPECT_THAT(answer.body, HasSubstr("is the number of a generation")) << word << number;
    }
  }
  EXPECT_FALSE(news_.has_met());
  EXPECT_THAT(told_, IsEmpty());
}

}  // namespace
}  // namespace paceline::agent
