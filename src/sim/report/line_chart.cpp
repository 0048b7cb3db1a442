#include "sim/report/line_chart.hpp"

#include <array>
#include <limits>
#include <span>

namespace paceline::sim {
namespace {

constexpr double kPlotRight = 20, kPlotTop = 28, kPlotBottom = 42;
constexpr double kPlotText = 12, kLabelGap = 3;
constexpr double kLegendLine = 20, kLegendSwatch = 30, kLegendGap = 22;

// Curves stay apart on paper without colours, too.
constexpr std::array<double, 2> kDashed{7, 3};
constexpr std::array<double, 2> kDotted{2, 2};
constexpr std::array<double, 4> kDashDotted{8, 3, 2, 3};

std::span<const double> dashes_of(std::size_t number) {
  switch ((number + number / kCurveInks) % 4) {
    case 1:
      return kDashed;
    case 2:
      return kDotted;
    case 3:
      return kDashDotted;
    default:
      return {};
  }
}

Stroke stroke_of(std::size_t number) { return {{Ink::curve, number}, 2, dashes_of(number)}; }

void draw_y_axis(Canvas& canvas, const Rect& plot, const Axis& axis) {
  for (const Tick& tick : axis.ticks()) {
    const double y = plot.bottom() - axis.place(tick.value) * plot.height;
    canvas.line(std::array{Point{plot.x, y}, Point{plot.right(), y}}, {{Ink::grid}, 1});
    canvas.text({plot.x - 7, y + 4}, tick.label, {kPlotText, Anchor::end, {Ink::quiet}});
  }
  canvas.text({plot.x - 46, plot.y + plot.height / 2}, axis.title(),
              {kPlotText, Anchor::middle, {Ink::quiet}, false, true});
}

void draw_curve(Canvas& canvas, const Rect& plot, const LineChart& chart, std::size_t number) {
  const Curve& curve = chart.curves[number];
  const auto at = [&](double x, double y) {
    return Point{plot.x + chart.x.place(x) * plot.width,
                 plot.bottom() - chart.y.place(y) * plot.height};
  };
  if (curve.steps.empty()) return;
  double level = 0;
  std::vector<Point> points{at(chart.x.from(), level)};
  for (const Point& step : curve.steps) {
    points.push_back(at(step.x, level));
    level = step.y;
    points.push_back(at(step.x, level));
  }
  if (curve.goes_on) points.push_back({plot.right(), points.back().y});
  canvas.line(points, stroke_of(number));
}

// Calls `entry(x, y, number)` for the upper left corner of each name's place, and gives the lines
// they take.
template <class Entry>
int lay_out(const std::vector<std::string>& names, double width, Entry entry) {
  double x = 0;
  int lines = 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double needs = kLegendSwatch + 6 + width_of(names[i], kPlotText);
    if (x > 0 && x + needs > width) {
      x = 0;
      ++lines;
    }
    entry(x, (lines - 1) * kLegendLine, i);
    x += needs + kLegendGap;
  }
  return lines;
}

}  // namespace

void draw_x_axis(Canvas& canvas, const Rect& plot, const Axis& axis) {
  const double y = plot.bottom();
  canvas.line(std::array{Point{plot.x, y}, Point{plot.right(), y}}, {{Ink::quiet}, 1});
  double taken = std::numeric_limits<double>::lowest();  // by labels up to here
  for (const Tick& tick : axis.ticks()) {
    const double x = plot.x + axis.place(tick.value) * plot.width;
    const double half = width_of(tick.label, kPlotText) / 2;
    canvas.line(std::array{Point{x, y}, Point{x, y + 4}}, {{Ink::quiet}, 1});
    if (x - half < taken) continue;
    taken = x + half + kLabelGap;
    canvas.text({x, y + 17}, tick.label, {kPlotText, Anchor::middle, {Ink::quiet}});
  }
  canvas.text({plot.x + plot.width / 2, y + 35}, axis.title(),
              {kPlotText, Anchor::middle, {Ink::quiet}});
}

void draw(Canvas& canvas, const Rect& place, const LineChart& chart) {
  const Rect plot{place.x + kChartLeft, place.y + kPlotTop, place.width - kChartLeft - kPlotRight,
                  place.height - kPlotTop - kPlotBottom};
  canvas.text({plot.x, place.y + 16}, chart.title, {13, Anchor::start, {Ink::text}, true});
  draw_y_axis(canvas, plot, chart.y);
  for (const Tick& tick : chart.x.ticks()) {
    const double x = plot.x + chart.x.place(tick.value) * plot.width;
    canvas.line(std::array{Point{x, plot.y}, Point{x, plot.bottom()}}, {{Ink::grid}, 1});
  }
  draw_x_axis(canvas, plot, chart.x);
  for (std::size_t i = 0; i < chart.curves.size(); ++i) draw_curve(canvas, plot, chart, i);
}

double legend_height(const std::vector<std::string>& names, double width) {
  return kLegendLine * lay_out(names, width - kChartLeft, [](double, double, std::size_t) {});
}

void draw_legend(Canvas& canvas, const Rect& place, const std::vector<std::string>& names) {
  lay_out(names, place.width - kChartLeft, [&](double left, double top, std::size_t number) {
    const Point from{place.x + kChartLeft + left, place.y + top + kLegendLine / 2};
    canvas.line(std::array{from, Point{from.x + kLegendSwatch, from.y}}, stroke_of(number));
    canvas.text({from.x + kLegendSwatch + 6, from.y + 4}, names[number],
                {kPlotText, Anchor::start, {Ink::text}});
  });
}

}  // namespace paceline::sim
