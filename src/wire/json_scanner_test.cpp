#include "wire/json_scanner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace paceline {
namespace {

std::string text_of(std::string_view json) {
  JsonScanner in(json);
  auto text = in.text();
  in.finish();
  return in.ok() ? text : "! " + in.problem();
}

TEST(JsonScanner, ReadsAnObjectInTheOrderOfItsKeys) {
  JsonScanner in(R"( {"rank" : 3 , "up":true,"at":12.5}  )");
  in.expect('{');
  ASSERT_TRUE(in.accept_key("rank", First::yes));
  EXPECT_EQ(in.whole<std::int32_t>(), 3);
  EXPECT_FALSE(in.accept_key("at", First::no));
  ASSERT_TRUE(in.accept_key("up", First::no));
  EXPECT_TRUE(in.boolean());
  ASSERT_TRUE(in.accept_key("at", First::no));
  EXPECT_EQ(in.microseconds(), 12'500'000);
  in.expect('}').finish();
  EXPECT_TRUE(in.ok()) << in.problem();
}

TEST(JsonScanner, TakesOnlyAWholeKey) {
  JsonScanner in(R"({"ranks":3})");
  in.expect('{');
  EXPECT_FALSE(in.accept_key("rank", First::yes));
  EXPECT_TRUE(in.accept_key("ranks", First::yes));
}

TEST(JsonScanner, ReadsEveryEscape) {
  EXPECT_EQ(text_of(R"("a\"\\\/\b\f\n\r\t")"), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"("\u0041\u00e9\u65e5\ud83d\ude00")"), "Aé日😀");
  EXPECT_EQ(text_of(R"("\u0000")"), std::string(1, '\0'));
}

TEST(JsonScanner, RefusesWhatIsNoString) {
  for (const auto* json :
       {"\"a", "a", "\"a\x01\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83d\"",
        "\"\\ud83d\\u0041\"", "\"\\ude00\"", "\"\xFF\"", "\"\\", "\"a\" b"}) {
    EXPECT_EQ(text_of(json).substr(0, 2), "! ") << json;
  }
}

TEST(JsonScanner, ReadsSecondsToTheMicrosecond) {
  const auto us = [](std::string_view json) {
    JsonScanner in(json);
    const auto read = in.microseconds();
    in.finish();
    EXPECT_TRUE(in.ok()) << json << ": " << in.problem();
    return read;
  };
  EXPECT_EQ(us("1763636112.123456"), 1'763'636'112'123'456);
  EXPECT_EQ(us("0.000001"), 1);
  EXPECT_EQ(us("-0.5"), -500'000);
  EXPECT_EQ(us("7"), 7'000'000);
  EXPECT_EQ(us("9223372036854.775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(us("-9223372036854.775808"), std::numeric_limits<std::int64_t>::min());
}

TEST(JsonScanner, RefusesSecondsThatAreNotExact) {
  for (const auto* json : {"1.0000001", "1e3", "9223372036854.775808", "-9223372036854.775809",
                           "99999999999999999999", "-", ".5", "\"1\"", "null", ""}) {
    JsonScanner in(json);
    EXPECT_EQ(in.microseconds(), 0) << json;
    EXPECT_FALSE(in.ok()) << json;
  }
}

TEST(JsonScanner, ReadsDoublesToTheBit) {
  for (const double value : {0.1, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789.0}) {
    const auto json = std::to_string(value);
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    JsonScanner in(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    const auto read = in.real();
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
  EXPECT_TRUE(std::isnan(JsonScanner("\"nan\"").real()));
  EXPECT_EQ(JsonScanner("\"-inf\"").real(), -std::numeric_limits<double>::infinity());
}

TEST(JsonScanner, RefusesWhatIsNoNumber) {
  for (const auto* json : {"inf", "nan", "-inf", "", "-", "x", "\"1\"", "1e999"}) {
    JsonScanner in(json);
    EXPECT_EQ(in.real(), 0) << json;
    EXPECT_FALSE(in.ok()) << json;
  }
  JsonScanner wide("300");
  EXPECT_EQ(wide.whole<std::uint8_t>(), 0);
  EXPECT_EQ(wide.problem(), "at byte 0, a whole number that fits is missing");
}

TEST(JsonScanner, KeepsTheFirstProblemAndEndsEveryLoop) {
  JsonScanner in("[1,2,x,4]");
  std::vector<int> read;
  in.expect('[');
  do read.push_back(in.whole<int>());
  while (in.accept(','));
  in.expect(']').finish();
  EXPECT_EQ(read, (std::vector{1, 2, 0}));
  EXPECT_EQ(in.problem(), "at byte 5, a whole number that fits is missing");
}

}  // namespace
}  // namespace paceline
