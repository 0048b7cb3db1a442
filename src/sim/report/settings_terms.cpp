#include "sim/report/settings_terms.hpp"

#include <fmt/format.h>

#include "sim/report/axis.hpp"
#include "sim/report/html.hpp"

namespace paceline::sim {
namespace {

std::string pause_text(Duration pause) {
  return pause == Duration::zero() ? "nothing" : span_text(to_seconds(pause));
}

std::string know_text(Know know) {
  switch (know) {
    case Know::oracle:
      return "oracle: every job's true length";
    case Know::estimate:
      return "estimate: what jobs report, and how long jobs of their application took";
    case Know::none:
      break;
  }
  return "none: nothing of lengths";
}

std::string seeds_text(std::size_t seeds) {
  if (seeds == 1) return "1: the trace as it is";
  return fmt::format(
      "{}: the trace as it is, then resampled by whole days, every submission moved by up to {}; "
      "all policies get the same jobs",
      seeds, span_text(to_seconds(kJitter)));
}

std::string span_of(const WorkloadOptions& options) {
  if (!options.from && !options.until) return "all";
  const std::string from = options.from ? span_text(to_seconds(*options.from)) : "the first one";
  if (!options.until) return fmt::format("from {} on", from);
  return fmt::format("from {} until {}", from, span_text(to_seconds(*options.until)));
}

}  // namespace

std::string settings_terms(const StudyPlan& plan, const StudyWords& words) {
  const Setup& setup = plan.setup;
  HtmlTerms terms;
  terms.add("trace", fmt::format("{}, format {}", words.trace, plan.trace->format));
  terms.add("cluster", fmt::format("{} ({} node{})", words.cluster, setup.nodes.size(),
                                   setup.nodes.size() == 1 ? "" : "s"));
  terms.add("seeds", seeds_text(plan.seeds.size()));
  terms.add("submissions", span_of(plan.workload));
  terms.add("load", fmt::format("{}", plan.workload.load));
  terms.add("policies know", know_text(setup.know));
  if (!words.what_if.empty()) terms.add("changed", words.what_if);
  terms.add("sizes", words.elastic.empty() ? "rigid: what jobs asked for" : words.elastic);
  terms.add("speed-up", speedup_text(setup));
  if (const auto models = models_of(setup.nodes); models.size() > 1)
    terms.add("devices", setup.devices ? setup.devices->text() : "count as equally fast");
  if (setup.learning) {
    terms.add("learning", fmt::format("{}; targets met after {} of a training",
                                      setup.learning->text(), plan.workload.reach->text()));
  }
  terms.add("costs", fmt::format("a restart pauses {}, a resize {}",
                                 pause_text(setup.costs.restart), pause_text(setup.costs.resize)));
  terms.add("protection", setup.protects ? "on: jobs lose a part of their time at most" : "off");
  terms.add("placement", setup.placement);
  terms.add("failures",
            fmt::format("{} per slot and hour of running", setup.failures_per_slot_hour));
  terms.add("saves", fmt::format("every {}, of jobs that may be stopped, resized or fail",
                                 span_text(to_seconds(setup.save_every))));
  if (setup.reclaim_after > Duration::zero())
    terms.add("a job that never saved", fmt::format("is stopped for others {} after it was asked",
                                                    span_text(to_seconds(setup.reclaim_after))));
  terms.add("left out of averages",
            fmt::format("warm-up {}, cool-down {}", pause_text(plan.window.warmup),
                        pause_text(plan.window.cooldown)));
  return std::move(terms).take();
}

std::string measures_terms() {
  HtmlTerms terms;
  terms.add("JCT", "job completion time: end − submission, of jobs that completed.");
  terms.add("wait", "the time a job was without all of its workers, starts again included.");
  terms.add("median, p99", "percentiles, interpolated linearly between the two nearest jobs.");
  terms.add("makespan", "last end − first submission.");
  terms.add("used",
            "utilisation: leased slot-seconds / slot-seconds of the cluster within the makespan.");
  terms.add("useful",
            "the same of completed jobs, with the speed-up at the size asked for in place of "
            "slots: what became progress.");
  terms.add("lost",
            "slot-hours leased that became no progress: pauses after stops and resizes, "
            "and work done twice after failures.");
  terms.add("unfair",
            "the part of the jobs with rho above 1; rho = JCT / time on 1/N of the cluster, N the "
            "jobs in it averaged over the job's life (finish-time fairness).");
  terms.add("95 %",
            "where the mean over the seeds lies with a chance of 95 in 100, by bootstrap; of a "
            "single seed there is none. Ratios are taken seed by seed.");
  terms.add("digest", "of every plan and its time: equal runs have equal digests.");
  return std::move(terms).take();
}

}  // namespace paceline::sim
