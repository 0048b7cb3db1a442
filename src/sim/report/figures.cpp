#include "sim/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "sim/report/line_chart.hpp"

namespace paceline::sim {
namespace {

constexpr double kCdfHeight = 320, kUtilizationHeight = 280;
constexpr double kGap = 8;

std::vector<std::string> names_of(const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const PolicyChoice& policy : plan.policies) names.push_back(policy.text());
  return names;
}

// ---- distributions ----

LineChart cdf_chart(const std::vector<const StudyRun*>& runs, std::string title,
                    Cdf RunDetails::*kind) {
  double least = 1e300, most = 1;
  std::vector<Curve> curves;
  for (const StudyRun* run : runs) {
    Curve curve;
    for (const auto& [seconds, part] : (*run->details).*kind) {
      curve.steps.push_back({seconds, part});
      least = std::min(least, seconds);
      most = std::max(most, seconds);
    }
    curves.push_back(std::move(curve));
  }
  return {std::move(title), Axis::log_time(std::min(least, most), most, "at most so long"),
          Axis::part("part of the jobs"), std::move(curves)};
}

// ---- utilisation ----

Duration widest_bin(const std::vector<const StudyRun*>& runs) {
  Duration widest{1};
  for (const StudyRun* run : runs) widest = std::max(widest, run->outcome.occupancy->bin);
  return widest;
}

Curve utilization_curve(const StudyRun& run, Duration bin) {
  const Occupancy& occupancy = *run.outcome.occupancy;
  const double end = to_seconds(occupancy.end - occupancy.begin), width = to_seconds(bin);
  Curve curve{{}, false};
  double from = 0;
  for (const double leased : leased_in_bins_of(bin, occupancy)) {
    const double available = std::min(width, end - from) * static_cast<double>(run.outcome.slots);
    curve.steps.push_back({from, available > 0 ? leased / available : 0});
    from += width;
  }
  curve.steps.push_back({end, 0});
  return curve;
}

LineChart utilization_chart(const std::vector<const StudyRun*>& runs) {
  const Duration bin = widest_bin(runs);
  double end = 1;
  std::vector<Curve> curves;
  for (const StudyRun* run : runs) {
    curves.push_back(utilization_curve(*run, bin));
    end = std::max(end, curves.back().steps.back().x);
  }
  return {"", Axis::time(0, end, "since the first submission"), Axis::part("leased slots"),
          std::move(curves)};
}

// ---- which jobs had the slots ----

std::string about(const TraceJob& job, double from, double until) {
  return fmt::format("{}: {} slot{}, {} to {}", job.name, job.slots, job.slots == 1 ? "" : "s",
                     span_text(from), span_text(until));
}

GanttBar bar_of(const Stay& stay, const StudyPlan& plan, Time begin) {
  const TraceJob& job = plan.trace->jobs[stay.job];
  const double from = to_seconds(stay.from - begin), until = to_seconds(stay.until - begin);
  return {stay.slot, 1, from, until, stay.job, job.name, about(job, from, until)};
}

std::vector<GanttNode> nodes_of(const OccupancyView& view, const StudyPlan& plan) {
  std::vector<GanttNode> nodes;
  std::optional<NodeId> last;
  for (const SlotId& slot : view.slots) {
    if (slot.node != last) nodes.push_back({plan.setup.nodes[slot.node.value].name, 0});
    ++nodes.back().rows;
    last = slot.node;
  }
  return nodes;
}

// Holds in neighbouring slots of a node, of one job and one time, are one bar.
std::vector<GanttBar> bars_of(const Occupancy& occupancy, const StudyPlan& plan,
                              const OccupancyView& view) {
  std::vector<Stay> stays;
  for (Stay stay : occupancy.stays) {
    stay.until = std::min(stay.until, view.until);
    if (stay.from < stay.until) stays.push_back(stay);
  }
  std::sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.from, a.until, a.job, a.slot) < std::tie(b.from, b.until, b.job, b.slot);
  });
  std::vector<GanttBar> bars;
  const Stay* last = nullptr;
  for (const Stay& stay : stays) {
    const bool beside = last != nullptr && last->from == stay.from && last->until == stay.until &&
                        last->job == stay.job && last->slot + 1 == stay.slot &&
                        view.slots[last->slot].node == view.slots[stay.slot].node;
    last = &stay;
    if (beside)
      ++bars.back().rows;
    else
      bars.push_back(bar_of(stay, plan, occupancy.begin));
  }
  return bars;
}

}  // namespace

std::vector<const StudyRun*> first_runs(const Study& study, const StudyPlan& plan) {
  std::vector<const StudyRun*> runs;
  for (std::size_t policy = 0; policy < plan.policies.size(); ++policy)
    runs.push_back(&study.runs[policy * plan.seeds.size()]);
  return runs;
}

Figure cdf_figure(const Study& study, const StudyPlan& plan) {
  const auto names = names_of(plan);
  const auto runs = first_runs(study, plan);
  const double top = legend_height(names, kFigureWidth) + kGap;
  return {"Distributions of job completion times and waits", top + kCdfHeight,
          [=, jct = cdf_chart(runs, "Job completion time", &RunDetails::jct),
           wait = cdf_chart(runs, "Wait", &RunDetails::wait)](Canvas& canvas) {
            const double half = kFigureWidth / 2;
            draw_legend(canvas, {0, 0, kFigureWidth, top}, names);
            draw(canvas, {0, top, half, kCdfHeight}, jct);
            draw(canvas, {half, top, half, kCdfHeight}, wait);
          }};
}

Figure utilization_figure(const Study& study, const StudyPlan& plan) {
  const auto names = names_of(plan);
  const double top = legend_height(names, kFigureWidth);
  return {"Leased slots over time", top + kUtilizationHeight,
          [=, chart = utilization_chart(first_runs(study, plan))](Canvas& canvas) {
            draw_legend(canvas, {0, 0, kFigureWidth, top}, names);
            draw(canvas, {0, top, kFigureWidth, kUtilizationHeight}, chart);
          }};
}

OccupancyView shown_view(const Study& study, const StudyPlan& plan) {
  const auto runs = first_runs(study, plan);
  OccupancyView view = runs.front()->outcome.occupancy->view;
  for (const StudyRun* run : runs)
    view.until = std::max(view.until, run->outcome.occupancy->view.until);
  for (const StudyRun* run : runs) {
    const Occupancy& occupancy = *run->outcome.occupancy;
    const bool more_came = occupancy.view.until < occupancy.end;
    if (more_came) view.until = std::min(view.until, occupancy.view.until);
  }
  return view;
}

Figure gantt_figure(const StudyRun& run, const StudyPlan& plan, const OccupancyView& view) {
  const Occupancy& occupancy = *run.outcome.occupancy;
  const std::string name = plan.policies[run.policy].text();
  GanttChart chart{
      name,
      Axis::time(to_seconds(view.from - occupancy.begin), to_seconds(view.until - occupancy.begin),
                 "since the first submission"),
      nodes_of(view, plan), bars_of(occupancy, plan, view)};
  const double height = height_of(chart);
  return {fmt::format("Which jobs had the slots under {}", name), height,
          [chart = std::move(chart), height](Canvas& canvas) {
            draw(canvas, {0, 0, kFigureWidth, height}, chart);
          }};
}

}  // namespace paceline::sim
