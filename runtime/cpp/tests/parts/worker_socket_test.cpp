#include "worker_socket.hpp"

#include <gtest/gtest.h>

namespace paceline::runtime {
namespace {

std::string answer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body;
}

TEST(WorkerSocket, AnswersAreRead) {
  EXPECT_EQ(reason_in(answer(R"({"should_stop": false, "reason": null})")), "");
  EXPECT_EQ(reason_in(answer(R"({"should_stop": true, "reason": "notice"})")), "notice");
}

TEST(WorkerSocket, WhatIsNoAnswerIsNone) {
  for (const std::string& text :
       {std::string(), std::string("HTTP/1.1 200 OK\r\n"), answer(""), answer("[]"), answer("{}"),
        answer(R"({"should_stop": 1})"), answer(R"({"should_stop": true})"),
        answer(R"({"should_stop": true, "reason": 5})"), answer(R"({"should_stop": tr)"),
        std::string("HTTP/1.1 503 busy\r\n\r\n{\"should_stop\": false, \"reason\": null}")})
    EXPECT_EQ(reason_in(text), std::nullopt) << text;
}

TEST(WorkerSocket, NewsOfTheGangAreRead) {
  const auto news =
      gang_news_in(answer(R"({"version": 3, "next": null, "ready": 2, "stands": 1})"));
  ASSERT_TRUE(news);
  EXPECT_EQ(news->version, 3);
  EXPECT_EQ(news->ready, 2);
  EXPECT_EQ(news->stands, 1);
  EXPECT_FALSE(news->next);
}

TEST(WorkerSocket, APlaceInTheNextGenerationIsRead) {
  const auto stays = gang_news_in(
      answer(R"({"version": 3, "next": {"generation": 4, "environment": {"RANK": "1"}}})"));
  ASSERT_TRUE(stays && stays->next && stays->next->environment);
  EXPECT_EQ(stays->next->generation, 4);
  EXPECT_EQ(stays->next->environment->at("RANK"), "1");
  const auto leaves =
      gang_news_in(answer(R"({"version": 3, "next": {"generation": 4, "environment": null}})"));
  ASSERT_TRUE(leaves && leaves->next);
  EXPECT_FALSE(leaves->next->environment);
}

TEST(WorkerSocket, WhatIsNoNewsOfTheGangIsNone) {
  for (const std::string& text :
       {std::string(), answer("{}"), answer(R"({"version": 3})"),
        answer(R"({"version": -3, "next": null})"), answer(R"({"version": 3, "next": 4})"),
        answer(R"({"version": 3, "next": {"generation": 4}})"),
        answer(R"({"version": 3, "next": {"environment": null}})"),
        answer(R"({"version": 3, "next": {"generation": 4, "environment": {"RANK": 1}}})"),
        answer(R"({"version": 3, "next": {"generation": 4, "environment": 5}})")})
    EXPECT_FALSE(gang_news_in(text)) << text;
}

}  // namespace
}  // namespace paceline::runtime
