#include "api/metrics_text.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(MetricsText, SaysACounterAsEachFormatDoes) {
  const auto text = [](MetricsFormat format) {
    MetricsText page(format);
    page.counter("paceline_plans", "Plans.");
    page.sample({}, 12);
    return page.take();
  };
  EXPECT_EQ(text(MetricsFormat::open_metrics),
            "# HELP paceline_plans Plans.\n# TYPE paceline_plans counter\n"
            "paceline_plans_total 12\n# EOF\n");
  EXPECT_EQ(text(MetricsFormat::prometheus),
            "# HELP paceline_plans_total Plans.\n# TYPE paceline_plans_total counter\n"
            "paceline_plans_total 12\n");
}

TEST(MetricsText, EscapesWhatPeopleWroteAndMendsWhatIsNotUtf8) {
  MetricsText text(MetricsFormat::prometheus);
  text.gauge("slots", "Slots.");
  text.sample({{"name", "a \"b\\\n\xff"}, {"user", ""}}, 0.5);
  EXPECT_EQ(text.take(),
            "# HELP slots Slots.\n# TYPE slots gauge\n"
            "slots{name=\"a \\\"b\\\\\\n\xEF\xBF\xBD\",user=\"\"} 0.5\n");
}

TEST(MetricsText, CountsTheRangesOfAHistogramTogether) {
  Histogram<2> waits({1, 10});
  for (const double value : {0.5, 1.0, 5.0, 20.0}) waits.add(value);
  MetricsText text(MetricsFormat::open_metrics);
  text.histogram("wait_seconds", "Waits.", waits);
  EXPECT_EQ(text.take(),
            "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n"
            "# UNIT wait_seconds seconds\n"
            "wait_seconds_bucket{le=\"1\"} 2\nwait_seconds_bucket{le=\"10\"} 3\n"
            "wait_seconds_bucket{le=\"+Inf\"} 4\nwait_seconds_count 4\nwait_seconds_sum 26.5\n"
            "# EOF\n");
}

TEST(MetricsText, AnswersTheFormatThatIsAskedFor) {
  EXPECT_EQ(metrics_format("application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"),
            MetricsFormat::open_metrics);
  EXPECT_EQ(metrics_format("text/plain"), MetricsFormat::prometheus);
  EXPECT_EQ(metrics_format(""), MetricsFormat::prometheus);
}

}  // namespace
}  // namespace paceline
