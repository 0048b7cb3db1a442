// The figures of a study, of the first seed's runs: the trace as it is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/report/canvas.hpp"
#include "sim/report/gantt_chart.hpp"
#include "sim/study/study.hpp"

namespace paceline::sim {

inline constexpr double kFigureWidth = 960;

// A figure whose size is known before it is drawn.
struct Figure {
  std::string title;
  double height = 0;
  std::function<void(Canvas&)> draw;
};

// The runs of the first seed, by policy.
std::vector<const StudyRun*> first_runs(const Study& study, const StudyPlan& plan);

// Cumulative distributions of JCT and wait, a curve for each policy. REQUIRES: details were kept.
Figure cdf_figure(const Study& study, const StudyPlan& plan);
// Leased slots over time, a curve for each policy. REQUIRES: the occupancy was kept.
Figure utilization_figure(const Study& study, const StudyPlan& plan);

// What is shown of every policy: what was kept of all of them; one that was done by then is idle.
OccupancyView shown_view(const Study& study, const StudyPlan& plan);
// REQUIRES: the occupancy was kept, and the view is not empty.
Figure gantt_figure(const StudyRun& run, const StudyPlan& plan, const OccupancyView& view);

}  // namespace paceline::sim
