#include "sim/report/report.hpp"

#include <fmt/format.h>

#include "sim/report/figures.hpp"
#include "sim/report/html.hpp"
#include "sim/report/markup.hpp"
#include "sim/report/report_style.hpp"
#include "sim/report/results_tables.hpp"
#include "sim/report/settings_terms.hpp"
#include "sim/report/svg_canvas.hpp"

namespace paceline::sim {
namespace {

std::string svg_of(const Figure& figure) {
  SvgCanvas canvas(kFigureWidth, figure.height, SvgCanvas::Inks::classes);
  figure.draw(canvas);
  return std::move(canvas).take(figure.title);
}

std::string title_of(const StudyPlan& plan, const StudyWords& words) {
  const std::size_t count = plan.policies.size();
  const std::string_view trace = words.trace;
  const std::string policies =
      count == 1 ? plan.policies.front().text() : fmt::format("{} policies", count);
  return fmt::format("{} on {}, {}", policies, trace.substr(trace.find_last_of('/') + 1),
                     words.cluster);
}

// What is shown of every policy's runs, in words.
std::string seeds_text(const StudyPlan& plan) {
  return plan.seeds.size() == 1 ? "" : " The trace as it is (the first seed).";
}

std::string results(const Study& study, const StudyPlan& plan) {
  std::string html = html_heading("Results") + policies_table(study, plan);
  if (plan.policies.size() > 1) html += comparisons_table(study, plan);
  return html;
}

std::string distributions(const Study& study, const StudyPlan& plan) {
  return html_heading("Job completion times and waits") +
         html_figure(svg_of(cdf_figure(study, plan)),
                     "Cumulative distributions over the jobs that count, on logarithmic axes; what "
                     "took less than a second is at the left edge." +
                         seeds_text(plan)) +
         sizes_table(study, plan);
}

std::string utilization(const Study& study, const StudyPlan& plan) {
  return html_heading("Utilisation over time") +
         html_figure(svg_of(utilization_figure(study, plan)),
                     "Leased slots as a part of the cluster's, averaged over equal spans; each "
                     "curve ends with its last job." +
                         seeds_text(plan));
}

std::string view_text(const OccupancyView& view, const StudyPlan& plan, Time begin) {
  const std::size_t nodes = view.slots.back().node.value + std::size_t{1};
  const std::size_t all = plan.setup.nodes.size();
  const bool whole = view.slots.size() >= plan.setup.nodes[nodes - 1].slots.size();
  const std::string slots = whole ? "" : fmt::format(", the first {} slots of", view.slots.size());
  const std::string which = nodes == all ? fmt::format("all {} nodes", all)
                                         : fmt::format("the first {} of {} nodes", nodes, all);
  return fmt::format("Shown are{} {}, from {} to {} after the first submission.", slots, which,
                     span_text(to_seconds(view.from - begin)),
                     span_text(to_seconds(view.until - begin)));
}

std::string holders(const Study& study, const StudyPlan& plan) {
  const OccupancyView view = shown_view(study, plan);
  const auto runs = first_runs(study, plan);
  const Time begin = runs.front()->outcome.occupancy->begin;
  std::string html =
      html_heading("Which jobs had the slots") +
      html_paragraph(
          "A row is a slot, a bar a job, with one colour under all policies; its name, "
          "size and times show where one points at it. " +
          view_text(view, plan, begin) +
          " The span is around the time when most work would wait if no slot were ever "
          "idle." +
          seeds_text(plan));
  for (const StudyRun* run : runs) html += html_figure(svg_of(gantt_figure(*run, plan, view)), {});
  return html;
}

}  // namespace

std::string to_html(const Study& study, const StudyPlan& plan, const StudyWords& words) {
  std::string body = fmt::format("<pre><code>{}</code></pre>\n", escaped(words.command));
  body += results(study, plan) + distributions(study, plan);
  const auto runs = first_runs(study, plan);
  const Occupancy& occupancy = *runs.front()->outcome.occupancy;
  if (occupancy.end > occupancy.begin) body += utilization(study, plan) + holders(study, plan);
  body += html_heading("Jobs") + jobs_table(study, plan);
  body += html_heading("Settings") + settings_terms(plan, words);
  body += html_heading("Measures") + measures_terms();
  if (plan.seeds.size() > 1) body += html_heading("Every run") + runs_table(study, plan);
  return html_page(title_of(plan, words), report_style(), body);
}

}  // namespace paceline::sim
