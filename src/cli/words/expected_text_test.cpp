#include "cli/words/expected_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace paceline {
namespace {

constexpr double kNow = 1'763'647'200;  // 2025-11-20 14:00 UTC

class ExpectedTextTest : public ::testing::Test {
 protected:
  ExpectedTextTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }

  // Minutes from now; a negative one is null.
  static Document expected(double at, double earliest, double latest) {
    const auto time = [](double minutes) {
      return minutes < 0 ? Document() : Document(kNow + 60 * minutes);
    };
    return {{"at", time(at)},
            {"earliest", time(earliest)},
            {"latest", time(latest)},
            {"known", "declared"}};
  }
};

TEST_F(ExpectedTextTest, IsATimeWithItsInterval) {
  EXPECT_EQ(expected_text(expected(20, 10, 100), kNow), "about 14:20 (14:10 to 15:40)");
  EXPECT_EQ(expected_text(expected(2, 1, 3), kNow), "about 14:02:00 (14:01:00 to 14:03:00)");
  EXPECT_EQ(expected_text(expected(20, 10, -1), kNow), "about 14:20 (14:10 or later)");
  EXPECT_EQ(expected_text(expected(-1, 90, -1), kNow), "not before 15:30");
  EXPECT_EQ(expected_text(expected(0, 0, 0), kNow), "now");
  EXPECT_EQ(expected_text(Document(), kNow), "");
}

TEST_F(ExpectedTextTest, IsASpanInATable) {
  EXPECT_EQ(expected_cell(expected(125, 10, 200), kNow), "2h05m");
  EXPECT_EQ(expected_cell(expected(0, 0, 0), kNow), "now");
  EXPECT_EQ(expected_cell(expected(-1, 90, -1), kNow), ">1h30m");
  EXPECT_EQ(expected_cell(Document(), kNow), "-");
  EXPECT_EQ(expected_span(expected(20, 10, 100), kNow), "10m00s to 1h40m");
  EXPECT_EQ(expected_span(expected(-1, 90, -1), kNow), "1h30m or later");
}

TEST_F(ExpectedTextTest, NamesTheJobItWaitsForAndWhatIsNotKnown) {
  Document why = {
      {"expected_start", expected(20, 10, 100)}, {"expected_end", nullptr}, {"starts_after", 12}};
  EXPECT_EQ(expected_lines(why, kNow),
            std::vector<std::string>{
                "It is expected to start about 14:20 (14:10 to 15:40), once job 12 ends."});
  why["expected_start"]["known"] = "unknown";
  EXPECT_EQ(expected_lines(why, kNow).size(), 2U);
  EXPECT_EQ(expected_lines(Document::object(), kNow).size(), 0U);
}

TEST_F(ExpectedTextTest, NamesWhatWouldStartItSooner) {
  const Document why = {
      {"changes",
       {{{"change", "slots"}, {"slots", 2}, {"starts_at", kNow}},
        {{"change", "affinity"}, {"slots", nullptr}, {"starts_at", kNow + 1200}}}}};
  EXPECT_EQ(change_lines(why, kNow),
            (std::vector<std::string>{"With --slots 2 it would start now.",
                                      "Without --affinity it would start about 14:20."}));
}

TEST_F(ExpectedTextTest, IsJoinedToTheJobsItTellsOf) {
  Document jobs = {{"jobs", {{{"id", 1}}, {{"id", 2}}}}};
  const Document told = {
      {"jobs",
       {{{"id", 2}, {"expected_start", expected(20, 10, 100)}, {"expected_end", nullptr}}}}};
  join_expected(jobs, told);
  EXPECT_TRUE(jobs["jobs"][0]["expected_start"].is_null());
  EXPECT_EQ(jobs["jobs"][1]["expected_start"], expected(20, 10, 100));
}

}  // namespace
}  // namespace paceline
