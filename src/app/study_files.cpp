#include "app/study_files.hpp"

#include <fmt/format.h>

#include <set>

#include "app/png_image.hpp"
#include "app/whole_file.hpp"
#include "sim/cluster.hpp"
#include "sim/report/plot.hpp"
#include "sim/report/report.hpp"
#include "sim/traces/write_trace.hpp"

namespace paceline {
namespace {

// The jobs of each seed; of those after seed 0 in FILE.1, FILE.2, ….
Result<void> record(const std::string& path, const sim::StudyPlan& plan) {
  const std::int64_t slots = sim::slots_of(plan.setup.nodes);
  for (const std::uint64_t seed : plan.seeds) {
    sim::WorkloadOptions options = plan.workload;
    options.seed = seed;
    const auto workload = sim::make_workload(plan.trace, slots, options);
    const auto write = [&](std::ostream& out) { sim::write_trace(out, workload); };
    if (auto ok = write_whole(seed == 0 ? path : fmt::format("{}.{}", path, seed), write); !ok)
      return ok;
  }
  return {};
}

Result<void> check_plot(const std::string& path) {
  const auto format = sim::plot_format_of(path);
  if (!format) return fail(format.error());
  return *format == sim::PlotFormat::png ? find_painter() : Result<void>{};
}

Result<std::string> plot_file(const std::string& path, std::string svg) {
  if (*sim::plot_format_of(path) == sim::PlotFormat::png) return png_of(svg);
  return svg;
}

}  // namespace

Result<void> check_study_files(const SimulateOptions& options) {
  if (options.plot) {
    if (auto possible = check_plot(*options.plot); !possible) {
      possible.error().message = "--plot: " + possible.error().message;
      return possible;
    }
  }
  std::set<std::string> named{options.trace};
  for (const auto& path : {options.jobs_out, options.record, options.report, options.plot}) {
    if (!path) continue;
    if (!named.insert(*path).second) {
      return fail(
          ErrorCode::invalid, fmt::format("'{}' is named for two files.", *path),
          "Give each of --trace, --jobs-out, --record, --report and --plot a name of its own.");
    }
    if (auto ok = check_writable(*path); !ok) return ok;
  }
  return {};
}

void keep_for_study_files(const SimulateOptions& options, sim::StudyPlan& plan) {
  plan.keep_jobs = options.jobs_out.has_value();
  plan.keep_details = options.report || options.plot;
  plan.setup.keep_occupancy = options.report.has_value();
}

Result<void> write_study_files(const SimulateOptions& options, const sim::Study& study,
                               const sim::StudyPlan& plan, const sim::StudyWords& words) {
  if (options.jobs_out) {
    const auto write = [&](std::ostream& out) { sim::write_jobs_csv(out, study, plan); };
    if (auto ok = write_whole(*options.jobs_out, write); !ok) return ok;
  }
  if (options.record) {
    if (auto ok = record(*options.record, plan); !ok) return ok;
  }
  if (options.report) {
    const auto write = [&](std::ostream& out) { out << sim::to_html(study, plan, words); };
    if (auto ok = write_whole(*options.report, write); !ok) return ok;
  }
  if (options.plot) {
    const auto image = plot_file(*options.plot, sim::plot(study, plan));
    if (!image) return fail(image.error());
    const auto write = [&](std::ostream& out) { out << *image; };
    if (auto ok = write_whole(*options.plot, write); !ok) return ok;
  }
  return {};
}

}  // namespace paceline
