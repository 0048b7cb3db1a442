#include "sim/report/report.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "sim/cluster.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/line_chart.hpp"
#include "sim/report/plot.hpp"
#include "sim/study/study_testing.hpp"

namespace paceline::sim {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

StudyPlan plan_of(std::vector<PolicyChoice> policies, std::vector<std::uint64_t> seeds = {0}) {
  auto trace = std::make_shared<Trace>();
  trace->format = "itp";
  for (int i = 0; i < 60; ++i) {
    TraceJob job;
    job.name = i == 0 ? "<script>&" : "job-" + std::to_string(i);
    job.submitted = Time{} + seconds{i * 100};
    job.duration = seconds{i % 7 == 0 ? 4'000 : 600};
    job.slots = 1 + i % 5;
    trace->jobs.push_back(job);
  }
  StudyPlan plan;
  plan.trace = trace;
  plan.policies = std::move(policies);
  plan.seeds = std::move(seeds);
  plan.setup.nodes = *parse_cluster("2x4");
  plan.setup.keep_occupancy = plan.keep_details = true;
  return plan;
}

Study study_of(const StudyPlan& plan) {
  const PolicyRegistry registry;
  StillClock clock;
  auto study = run_study(plan, registry, clock, {});
  EXPECT_TRUE(study.has_value());
  return study ? std::move(*study) : Study{};
}

const StudyWords kWords{"a<b>.csv", "2x4", "", "", "paceline simulate --trace 'a<b>.csv' && \"x\""};

std::string page_of(const StudyPlan& plan) { return to_html(study_of(plan), plan, kWords); }

// A page is too long to be shown where it lacks something.
bool has(const std::string& page, std::string_view words) {
  return page.find(words) != std::string::npos;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Notes what is drawn.
class NotedCanvas final : public Canvas {
 public:
  void rect(const Rect& rect, const Ink& ink, std::string_view about) override {
    if (ink.role == Ink::fill) bars.push_back({rect, std::string(about)});
  }
  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (stroke.ink.role == Ink::curve && points.size() > 2) curves.push_back(stroke.ink.number);
    for (const Point& point : points) {
      EXPECT_GE(point.x, 0);
      EXPECT_LE(point.x, kFigureWidth);
    }
  }
  void text(Point at, std::string_view text, const Font& font) override {
    texts.emplace(text);
    const double half = width_of(text, font.size) / 2;
    if (font.anchor == Anchor::middle && !font.upwards)
      centred[at.y].emplace_back(at.x - half, at.x + half);
  }

  struct Bar {
    Rect rect;
    std::string about;
  };
  std::vector<Bar> bars;
  std::vector<std::size_t> curves;
  std::set<std::string> texts;
  std::map<double, std::vector<std::pair<double, double>>> centred;  // by line: from where to where
};

TEST(Figures, HaveACurveForEachPolicyAndNameIt) {
  const auto plan = plan_of({{"fifo", {}, {}}, {"srtf", {}, {}}, {"las", {{"queues", "2"}}, {}}});
  const Study study = study_of(plan);
  NotedCanvas cdfs, utilization;
  cdf_figure(study, plan).draw(cdfs);
  utilization_figure(study, plan).draw(utilization);
  EXPECT_EQ(cdfs.curves, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(utilization.curves, (std::vector<std::size_t>{0, 1, 2}));
  for (const char* name : {"fifo", "srtf", "las(queues=2)"}) {
    EXPECT_TRUE(cdfs.texts.contains(name)) << name;
    EXPECT_TRUE(utilization.texts.contains(name)) << name;
  }
}

TEST(Figures, LabelsOfAnAxisKeepApart) {
  NotedCanvas canvas;
  draw_x_axis(canvas, {0, 0, 300, 100}, Axis::log_time(1, 1e8, ""));
  const auto& labels = canvas.centred.begin()->second;
  ASSERT_GT(labels.size(), 3U);
  for (std::size_t i = 1; i < labels.size(); ++i) EXPECT_LT(labels[i - 1].second, labels[i].first);
}

TEST(Figures, BarsOfSlotsNeverOverlapAndFillWhatWasLeased) {
  const auto plan = plan_of({{"srtf", {}, {}}});
  const Study study = study_of(plan);
  const auto view = shown_view(study, plan);
  NotedCanvas canvas;
  gantt_figure(study.runs.front(), plan, view).draw(canvas);
  ASSERT_FALSE(canvas.bars.empty());
  EXPECT_LT(canvas.bars.size(), study.runs.front().outcome.occupancy->stays.size());
  for (std::size_t i = 0; i < canvas.bars.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Rect &a = canvas.bars[i].rect, &b = canvas.bars[j].rect;
      EXPECT_FALSE(a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom())
          << canvas.bars[i].about << " and " << canvas.bars[j].about;
    }
  }
  EXPECT_TRUE(canvas.texts.contains("node-1"));
  EXPECT_TRUE(canvas.texts.contains("node-2"));
}

TEST(Report, EqualStudiesGiveEqualBytes) {
  const auto plan = plan_of({{"fifo", {}, {}}, {"srtf", {}, {}}}, {0, 1, 2});
  EXPECT_TRUE(page_of(plan) == page_of(plan));
}

TEST(Report, EscapesWhatTracesAndCommandsSay) {
  const std::string page = page_of(plan_of({{"fifo", {}, {}}}));
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "a<b>"));
  EXPECT_TRUE(has(page, "&lt;script&gt;&amp;: 1 slot, "));
  EXPECT_TRUE(has(page,
                  "<pre><code>paceline simulate --trace &#39;a&lt;b&gt;.csv&#39; "
                  "&amp;&amp; &quot;x&quot;</code></pre>"));
}

TEST(Report, HasTablesOfPoliciesSizesAndSettings) {
  const std::string page = page_of(plan_of({{"fifo", {}, {}}, {"srtf", {}, {}}}, {0, 1, 2}));
  for (const char* words :
       {"their 95 % intervals", "<br><small>", "Each policy against fifo", "average JCT",
        ">2–4</th>", ">5–8</th>", "oracle: every job&#39;s true length", "every 30.0 min",
        "job completion time", "larger than the cluster", "Every run", "prefers-color-scheme:dark",
        "@media print"})
    EXPECT_TRUE(has(page, words)) << words;
  EXPECT_EQ(count(page, "<svg "), 4U);  // distributions, utilisation, two policies' slots
  EXPECT_FALSE(has(page, " id="));
  const std::string single = page_of(plan_of({{"fifo", {}, {}}}));
  EXPECT_FALSE(has(single, "<small>"));
  EXPECT_FALSE(has(single, "Each policy against"));
}

TEST(Report, CountsTheNodesOfItsCluster) {
  auto plan = plan_of({{"fifo", {}, {}}});
  EXPECT_TRUE(has(page_of(plan), "(2 nodes)"));
  plan.setup.nodes = *parse_cluster("1x8");
  EXPECT_TRUE(has(page_of(plan), "(1 node)"));
}

TEST(Report, OfNoJobsStillReads) {
  auto plan = plan_of({{"fifo", {}, {}}});
  plan.workload.until = Duration::zero();
  EXPECT_TRUE(has(page_of(plan), "outside the span"));
}

TEST(Plot, IsDrawnAsItsSuffixSays) {
  EXPECT_EQ(plot_format_of("a/b.png"), PlotFormat::png);
  EXPECT_EQ(plot_format_of("b.svg"), PlotFormat::svg);
  for (const char* wrong : {"b.pdf", "png", "b.svg.gz", ""}) EXPECT_FALSE(plot_format_of(wrong));
  const auto plan = plan_of({{"fifo", {}, {}}, {"srtf", {}, {}}});
  const Study study = study_of(plan);
  const std::string svg = plot(study, plan);
  EXPECT_THAT(svg, StartsWith("<?xml"));
  EXPECT_THAT(svg, HasSubstr("srtf</text>"));
  EXPECT_TRUE(svg == plot(study, plan));
}

}  // namespace
}  // namespace paceline::sim
