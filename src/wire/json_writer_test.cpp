#include "wire/json_writer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

TEST(JsonWriter, KeepsTheOrderOfTheCalls) {
  JsonWriter json;
  json.begin_object().field("id", 7).field("name", "digits").key("nodes").begin_array();
  json.value("box").value("rack").end_array().key("none").begin_object().end_object().end_object();
  EXPECT_EQ(json.take(), R"({"id":7,"name":"digits","nodes":["box","rack"],"none":{}})");
}

TEST(JsonWriter, WritesTimesExactlyToTheMicrosecond) {
  JsonWriter json;
  json.begin_array().value(time_from_us(1'763'636'112'123'456)).value(time_from_us(5'000'000));
  json.value(Duration{1'500}).value(Duration{-250'000}).value(Duration{0}).end_array();
  EXPECT_EQ(json.take(), "[1763636112.123456,5.0,0.0015,-0.25,0.0]");
}

TEST(JsonWriter, WritesNumbersShortAndNoNumbersAsNull) {
  JsonWriter json;
  json.begin_array().value(0.1).value(1.0).value(1e300).value(std::nan(""));
  json.value(std::numeric_limits<double>::infinity());
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::numeric_limits<std::int64_t>::min()).end_array();
  EXPECT_EQ(json.take(), "[0.1,1.0,1e+300,null,null,18446744073709551615,-9223372036854775808]");
}

TEST(JsonWriter, WritesOptionalsAndRawText) {
  JsonWriter json;
  json.begin_object().field("a", std::optional<int>{}).field("b", std::optional<Time>{Time{}});
  json.raw_field("c", "[1,2]").null_field("d").field("e", true).end_object();
  EXPECT_EQ(json.take(), R"({"a":null,"b":0.0,"c":[1,2],"d":null,"e":true})");
}

TEST(JsonWriter, EscapesWhatJsonCanNotHold) {
  JsonWriter json;
  json.value(std::string_view("a\"b\\c\n\x01\xFFz", 9));
  EXPECT_EQ(json.take(), "\"a\\\"b\\\\c\\n\\u0001\xEF\xBF\xBDz\"");
}

RC_GTEST_PROP(JsonWriter, AnyStringComesBackAsUtf8, (const std::string& text)) {
  JsonWriter json;
  json.value(text);
  const auto read = parse_json(json.text());
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->get<std::string>() == to_utf8(text));
}

RC_GTEST_PROP(JsonWriter, AnyNumberComesBackEqual, (double number, std::int64_t whole)) {
  JsonWriter json;
  json.begin_array().value(number).value(whole).end_array();
  const auto read = parse_json(json.text());
  RC_ASSERT(read.has_value());
  RC_ASSERT((*read)[0].get<double>() == number);
  RC_ASSERT((*read)[1].get<std::int64_t>() == whole);
}

}  // namespace
}  // namespace paceline
