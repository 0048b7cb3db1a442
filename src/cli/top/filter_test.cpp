#include "cli/top/filter.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::int64_t kOwn = 1000;

bool wants(std::string_view filter) {
  static const auto job = parse_document(
      R"({"id": 7, "name": "Digits-a", "user": "ann", "uid": 1000, "state": "RUNNING"})");
  return Filter::parse(filter, kOwn).value().wants(*job);
}

TEST(Filter, KnowsWordsOfJobs) {
  for (const auto* word :
       {"", "dig", "ANN", "run", "7", "Dig*", "name:Digits-?", "name:gits", "user:an", "state:run",
        "state:RUNNING", "RUNNING", "me", "dig user:ann"})
    EXPECT_TRUE(wants(word)) << word;
  for (const auto* word :
       {"text", "dig*", "name:text", "user:bob", "state:pend", "PENDING", "17", "dig user:bob"})
    EXPECT_FALSE(wants(word)) << word;
  const auto other = parse_document(R"({"id": 8, "uid": 1001})");
  EXPECT_FALSE(Filter::parse("me", kOwn)->wants(*other));
}

TEST(Filter, SaysWhatIsNoWord) {
  EXPECT_EQ(Filter::parse("usr:ann", kOwn).error().message,
            "'usr:' is no word of a filter; did you mean 'user:'?");
  EXPECT_EQ(Filter::parse("state:done", kOwn).error().message, "'done' is no state.");
}

}  // namespace
}  // namespace paceline
