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

}  // namespace
}  // namespace paceline::runtime
