#include "sim/traces/values.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNoNumber = "is not a finite number";
constexpr std::string_view kTooLarge = "is over 10,000,000,000";

TEST(Millionths, AreExact) {
  EXPECT_EQ(*parse_millionths("0"), 0);
  EXPECT_EQ(*parse_millionths("66.0"), 66'000'000);
  EXPECT_EQ(*parse_millionths("0.000001"), 1);
  EXPECT_EQ(*parse_millionths(".5"), 500'000);
  EXPECT_EQ(*parse_millionths("5."), 5'000'000);
  EXPECT_EQ(*parse_millionths("007"), 7'000'000);
  EXPECT_EQ(*parse_millionths(" 7 "), 7'000'000);
  EXPECT_EQ(*parse_millionths("-0.0"), 0);
  EXPECT_EQ(*parse_millionths("9999999999.999999"), 9'999'999'999'999'999) << "no double is this";
  EXPECT_EQ(*parse_millionths("10000000000"), 10'000'000'000'000'000);
}

TEST(Millionths, AreRoundedAtTheSeventhDecimal) {
  EXPECT_EQ(*parse_millionths("1.0000004"), 1'000'000);
  EXPECT_EQ(*parse_millionths("1.0000005"), 1'000'001);
  EXPECT_EQ(*parse_millionths("0.99999999"), 1'000'000);
}

TEST(Millionths, MayBeScientific) {
  EXPECT_EQ(*parse_millionths("1.5e-3"), 1'500);
  EXPECT_EQ(*parse_millionths("1E9"), 1'000'000'000'000'000);
  EXPECT_EQ(parse_millionths("1e11").error(), kTooLarge);
  EXPECT_EQ(parse_millionths("1e999").error(), kTooLarge);
  EXPECT_EQ(parse_millionths("1e-999").error(), "is too near to 0");
  EXPECT_EQ(parse_millionths("1e").error(), kNoNumber);
}

TEST(Millionths, SayWhyNot) {
  for (const char* text : {"nan", "inf", "-inf", "abc", "1,5", "1.2.3", ".", "-", "+1", "0x10",
                           "1s", "--1", "e5", "１"})
    EXPECT_EQ(parse_millionths(text).error(), kNoNumber) << text;
  EXPECT_EQ(parse_millionths("").error(), "is empty");
  EXPECT_EQ(parse_millionths("   ").error(), "is empty");
  EXPECT_EQ(parse_millionths("-1").error(), "is negative");
  EXPECT_EQ(parse_millionths("-0.0000009").error(), "is negative");
  EXPECT_EQ(parse_millionths("10000000000.000001").error(), kTooLarge);
  EXPECT_EQ(parse_millionths("99999999999999999999999999").error(), kTooLarge);
  EXPECT_EQ(parse_millionths("18446744073709551617").error(), kTooLarge);
}

RC_GTEST_PROP(Millionths, ReadWhatWasWritten, ()) {
  const auto us = *rc::gen::inRange<std::int64_t>(0, kTraceSecondsMax * 1'000'000);
  RC_ASSERT(*parse_millionths(fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000)) == us);
}

TEST(Count, IsWhole) {
  EXPECT_EQ(*parse_count("8"), 8);
  EXPECT_EQ(*parse_count("8.0"), 8);
  EXPECT_EQ(parse_count("0.5").error(), "is not a whole number");
}

TEST(Number, IsFinite) {
  EXPECT_EQ(*parse_number("-0.25"), -0.25);
  EXPECT_EQ(*parse_number("195590723287826.75"), 195590723287826.75);
  EXPECT_EQ(*parse_number("4.038787522421578e-10"), 4.038787522421578e-10);
  for (const char* text : {"nan", "inf", "1e999", "1,5", "x"})
    EXPECT_EQ(parse_number(text).error(), kNoNumber) << text;
  EXPECT_EQ(parse_number("").error(), "is empty");
}

TEST(DateTime, IsUtc) {
  EXPECT_EQ(*parse_date_time("1970-01-01 00:00:00"), Time{});
  EXPECT_EQ(*parse_date_time("2017-10-09 07:01:55"), Time(1507532515s));
  EXPECT_EQ(*parse_date_time("2017-10-09T07:01:55Z"), Time(1507532515s));
  EXPECT_EQ(*parse_date_time("2020-02-29 23:59:59.25"), Time(1583020799s + 250ms));
}

TEST(DateTime, SaysWhyNot) {
  for (const char* text :
       {"2017-10-09", "2017-10-9 07:01:55", "17-10-09 07:01:55", "2017/10/09 07:01:55",
        "2017-10-09 24:00:00", "2017-10-09 07:60:00", "2017-10-09 07:01:5", "Unknown",
        "2017-10-09 07:01:55+02:00", "2017-10-09 07:01:55.", "2017-13-09 07:01:55", "1507532515"})
    EXPECT_EQ(parse_date_time(text).error(), "is not a date and time like 2017-10-09 07:01:55")
        << text;
  EXPECT_EQ(parse_date_time("2019-02-29 00:00:00").error(), "is a day that no calendar has");
  EXPECT_EQ(parse_date_time("2019-00-01 00:00:00").error(), "is a day that no calendar has");
  EXPECT_EQ(parse_date_time("1969-12-31 23:59:59").error(), "is not in the years 1970 to 2286");
  EXPECT_EQ(parse_date_time("9999-01-01 00:00:00").error(), "is not in the years 1970 to 2286");
  EXPECT_EQ(parse_date_time("").error(), "is empty");
}

}  // namespace
}  // namespace paceline::sim
