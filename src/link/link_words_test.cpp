#include "link/link_words.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

const LinkGreeting kGreeting{Session{7}, "0.1.0", std::chrono::milliseconds{5'000}};

ErrorCode code_of(std::string_view line) {
  const auto greeting = decode_greeting(line);
  EXPECT_FALSE(greeting.has_value()) << line;
  return greeting ? ErrorCode::internal : greeting.error().code;
}

TEST(LinkWords, AGreetingIsReadAsItWasWritten) {
  const auto line = encode(kGreeting);
  EXPECT_EQ(line, R"({"session":7,"version":"0.1.0","beat_seconds":5.0})");
  EXPECT_EQ(decode_greeting(line).value(), kGreeting);
}

TEST(LinkWords, WhatIsNoGreetingIsRefused) {
  for (const char* line : {"", "{}", "hello", "[]", R"({"session":7,"version":"0.1.0"})",
                           R"({"session":0,"version":"0.1.0","beat_seconds":5})",
                           R"({"session":7,"version":"0.1.0","beat_seconds":0})",
                           R"({"session":7,"version":"0.1.0","beat_seconds":1e300})",
                           R"({"session":7,"version":"0.1.0","beat_seconds":5,"more":1})"})
    EXPECT_EQ(code_of(line), ErrorCode::data) << line;
}

TEST(LinkWords, ARefusalIsToldInPlaceOfAGreeting) {
  const Error why{ErrorCode::forbidden, "Node gpu-3 was removed.", "Join anew.", Retry::useless};
  const auto read = decode_greeting(encode_refusal(why));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::forbidden);
  EXPECT_EQ(read.error().message, "Node gpu-3 was removed.");
  EXPECT_EQ(read.error().hint, "Join anew.");
}

TEST(LinkWords, AFrameIsNoRefusal) {
  EXPECT_FALSE(decode_refusal(encode(ServerFrame{Session{7}, 0, 3, 3, {}})).has_value());
  EXPECT_FALSE(decode_refusal("").has_value());
}

}  // namespace
}  // namespace paceline
