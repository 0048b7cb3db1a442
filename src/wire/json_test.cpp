#include "wire/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paceline {
namespace {

using ::testing::HasSubstr;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// The sentence that reading `text` as an object with one whole number `workers` ends in.
std::string refusal(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return json.error().message;
  int workers = 0;
  bool hold = false;
  ObjectReader reader(*json, "spec");
  reader.whole("workers", workers, 1, 100).flag("hold", hold);
  const auto read = reader.finish();
  return read ? "" : read.error().message;
}

TEST(ParseJson, TakesNoByteOrderMark) {
  EXPECT_EQ(parse_json("\xEF\xBB\xBF{}").error().message,
            "The JSON text begins with a byte order mark.");
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const auto json = parse_json(R"({"a": [1, -2, 2.5, "x", true, null, {}], "b": {"c": []}})");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->dump(), R"({"a":[1,-2,2.5,"x",true,null,{}],"b":{"c":[]}})");
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const auto* text : {"", "{", "{]", "nul", "{\"a\":1}x", "[1,]", "'a'", "\"\xFF\"",
                           "\"\\ud800\"", "1e999", "{\"a\" 1}", "\xEF\xBB", "//x"}) {
    const auto json = parse_json(text);
    ASSERT_FALSE(json.has_value()) << text;
    EXPECT_EQ(json.error().code, ErrorCode::invalid);
    EXPECT_THAT(json.error().message, HasSubstr("not a JSON text"));
  }
}

TEST(ParseJson, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(refusal(R"({"workers": 1, "workers": 2})"),
            "This is not a JSON text: the key 'workers' stands twice in one object.");
}

TEST(ParseJson, IsBoundedInBytesDepthAndValues) {
  const JsonBounds bounds{.bytes_max = 100, .depth_max = 4, .values_max = 10};
  EXPECT_TRUE(parse_json(nested(4), bounds).has_value());
  EXPECT_EQ(parse_json(nested(5), bounds).error().code, ErrorCode::too_large);
  EXPECT_EQ(parse_json(std::string(101, ' '), bounds).error().code, ErrorCode::too_large);
  EXPECT_EQ(parse_json("[1,2,3,4,5,6,7,8,9,10]", bounds).error().code, ErrorCode::too_large);
}

TEST(ParseJson, SurvivesMillionsOfBrackets) {
  EXPECT_EQ(parse_json(std::string(4 << 20, '[')).error().code, ErrorCode::too_large);
}

TEST(ObjectReader, NamesTheNearestKnownKey) {
  EXPECT_EQ(refusal(R"({"wokers": 2})"),
            "spec has an unknown key \"wokers\"; did you mean 'workers'?");
  EXPECT_EQ(refusal(R"({"zzzzzzzz": 2})"), "spec has an unknown key \"zzzzzzzz\".");
}

TEST(ObjectReader, SaysWhatAValueMustBeAndWhatItIs) {
  EXPECT_EQ(refusal(R"({"workers": "many"})"),
            "'workers' in spec must be a whole number from 1 to 100, not \"many\".");
  EXPECT_EQ(refusal(R"({"workers": 101})"),
            "'workers' in spec must be a whole number from 1 to 100, not 101.");
  EXPECT_EQ(refusal(R"({"workers": 18446744073709551615})"),
            "'workers' in spec must be a whole number from 1 to 100, not 18446744073709551615.");
  EXPECT_EQ(refusal(R"({"workers": 2.5})"),
            "'workers' in spec must be a whole number from 1 to 100, not 2.5.");
  EXPECT_EQ(refusal(R"({"hold": {}})"), "'hold' in spec must be true or false, not an object.");
  EXPECT_EQ(refusal("[1]"), "spec must be a JSON object, not a list.");
}

TEST(ObjectReader, TakesNullAsAbsent) { EXPECT_EQ(refusal(R"({"workers": null})"), ""); }

TEST(ObjectReader, KeepsTheFirstError) {
  EXPECT_THAT(refusal(R"({"hold": 1, "workers": 0, "x": 1})"), HasSubstr("'workers'"));
}

TEST(ObjectReader, ReadsListsMapsAndTimes) {
  const auto json = parse_json(
      R"({"argv": ["a", "b"], "env": {"A": "1"}, "ids": [3, 4], "for": 1.5, "at": 1763636112.123456})");
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<std::int64_t> ids;
  std::optional<Duration> span;
  std::optional<WallTime> at;
  ObjectReader reader(*json, "it");
  reader.texts("argv", argv, 2).text_map("env", env, 1).wholes("ids", ids, 1, 9, 2);
  reader.seconds("for", span).time("at", at);
  ASSERT_TRUE(reader.finish().has_value());
  EXPECT_THAT(argv, ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(env.at("A"), "1");
  EXPECT_THAT(ids, ::testing::ElementsAre(3, 4));
  EXPECT_EQ(span, Duration{1'500'000});
  EXPECT_EQ(at, wall_from_us(1'763'636'112'123'456));
}

TEST(ObjectReader, RefusesListsOverTheirBoundAndNul) {
  const auto json = parse_json(R"({"argv": ["a", "b"], "name": "a\u0000b"})");
  std::vector<std::string> argv;
  std::string name;
  EXPECT_FALSE(ObjectReader(*json, "it").texts("argv", argv, 1).ok());
  EXPECT_FALSE(ObjectReader(*json, "it").text("name", name, 10).ok());
  EXPECT_TRUE(argv.empty() && name.empty());
}

TEST(ObjectReader, WantsRequiredKeys) {
  const auto json = parse_json(R"({"directory": null})");
  ObjectReader reader(*json, "launch");
  reader.require({"directory"});
  EXPECT_EQ(reader.finish().error().message, "launch lacks the key 'directory'.");
}

}  // namespace
}  // namespace paceline
