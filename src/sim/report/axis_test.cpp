#include "sim/report/axis.hpp"

#include <gmock/gmock.h>

#include "sim/report/scale.hpp"

namespace paceline::sim {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks()) labels.push_back(tick.label);
  return labels;
}

TEST(Axis, OfTimeHasStepsThatPeopleCountIn) {
  EXPECT_THAT(labels(Axis::time(0, 100, "")),
              ElementsAre("0", "15 s", "30 s", "45 s", "60 s", "75 s", "90 s"));
  EXPECT_THAT(labels(Axis::time(0, 14 * 86'400, "")),
              ElementsAre("0", "2 d", "4 d", "6 d", "8 d", "10 d", "12 d", "14 d"));
  EXPECT_THAT(
      labels(Axis::time(5'000, 9'000, "")),
      ElementsAre("90 min", "100 min", "110 min", "120 min", "130 min", "140 min", "150 min"));
  for (double until = 0.5; until < 1e12; until *= 3) {
    const Axis axis = Axis::time(0, until, "");
    EXPECT_GE(axis.ticks().size(), 2U) << until;
    EXPECT_LE(axis.ticks().size(), 102U) << until;
    EXPECT_EQ(axis.place(0), 0);
    EXPECT_EQ(axis.place(until), 1);
  }
}

TEST(Axis, OfOrdersOfMagnitudeHasRoundMarks) {
  EXPECT_THAT(labels(Axis::log_time(40, 4'000, "")),
              ElementsAre("30 s", "1 min", "3 min", "10 min", "30 min", "1 h", "3 h"));
  EXPECT_THAT(labels(Axis::log_time(0, 5e6, "")),
              ElementsAre("1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d", "10 d", "100 d"));
  for (const double value : {0.0, 1.0, 59.0, 1e5, 1e9, 1e12}) {
    const Axis axis = Axis::log_time(value, value, "");
    EXPECT_GE(axis.ticks().size(), 2U) << value;
    EXPECT_GE(axis.place(value), 0);
    EXPECT_LE(axis.place(value), 1);
  }
  const Axis axis = Axis::log_time(1, 100, "");
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_LT(axis.place(5), axis.place(6));
}

TEST(Axis, SpansAreToldInOneUnit) {
  EXPECT_EQ(span_text(0), "0 s");
  EXPECT_EQ(span_text(59.96), "60.0 s");
  EXPECT_EQ(span_text(90), "1.50 min");
  EXPECT_EQ(span_text(86'400 * 12.34), "12.3 d");
  EXPECT_EQ(short_number(1'234.5), "1234");
}

TEST(Scale, IsOneForAWholeColumn) {
  const std::vector<double> seconds{30, 7'200, 36'000};
  const Scale hours = Scale::of_times(seconds);
  EXPECT_EQ(hours.title("JCT"), "JCT, h");
  EXPECT_EQ(hours.text(30), "0.0");
  EXPECT_EQ(hours.text(36'000), "10.0");
  EXPECT_EQ(Scale::of_parts().text(0.1234), "12.3");
  EXPECT_EQ(Scale::of_counts(std::vector{1.0, 20.0}).text(20), "20");
  EXPECT_EQ(Scale::of_counts(std::vector{1.5, 2.0}).text(2), "2.00");
}

}  // namespace
}  // namespace paceline::sim
