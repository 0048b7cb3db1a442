#include "sim/truth/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace paceline::sim {
namespace {

constexpr Duration kDay = std::chrono::hours{24};

std::optional<Bound> parse_bound(std::string_view text) {
  Bound bound{0, text.ends_with('x')};
  if (bound.times_wanted) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound.value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  const bool sound = std::isfinite(bound.value) && bound.value > 0 && bound.value <= kWorkersMax;
  if (!whole || !sound) return std::nullopt;
  if (!bound.times_wanted && (bound.value < 1 || bound.value != std::floor(bound.value)))
    return std::nullopt;
  return bound;
}

bool take_bound(std::string_view part, std::string_view name, Bound& bound) {
  if (!part.starts_with(name)) return false;
  const auto read = parse_bound(part.substr(name.size()));
  if (read) bound = *read;
  return read.has_value();
}

std::int32_t size_at(const Bound& bound, std::int32_t wanted) {
  const double size = bound.times_wanted ? bound.value * wanted : bound.value;
  return static_cast<std::int32_t>(std::min<double>(std::floor(size), kWorkersMax));
}

// The nearest size from below that is whole copies of the model; at least one.
std::int32_t whole_copies(std::int32_t workers, const Mesh& mesh) {
  return std::max(workers / mesh.step(), 1) * mesh.step();
}

WorkerRange range_of(const TraceJob& job, std::int64_t slots,
                     const std::optional<ElasticRule>& rule) {
  static const JobSpec plain;
  const JobSpec& own = job.spec ? *job.spec : plain;
  const std::int32_t wanted = job.slots / own.slots_per_worker;
  if (!rule) return job.spec ? own.workers : WorkerRange{wanted, wanted, wanted};
  const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(slots, kWorkersMax));
  const auto workers = [&](std::int32_t of_slots) {
    return whole_copies(of_slots / own.slots_per_worker, own.mesh);
  };
  return {workers(std::clamp(size_at(rule->min, job.slots), 1, job.slots)),
          workers(std::clamp(size_at(rule->max, job.slots), job.slots, most)), wanted};
}

// Slots that it can't run without.
std::int64_t least_slots(const TraceJob& job, const std::optional<ElasticRule>& rule) {
  if (rule || !job.spec) return job.slots;
  return std::int64_t{job.spec->workers.min} * job.spec->slots_per_worker;
}

Time first_of(const Trace& trace) {
  Time first = Time::max();
  for (const TraceJob& job : trace.jobs) first = std::min(first, job.submitted);
  return first;
}

// When each job of the trace comes, perhaps more than once or never.
struct Occurrence {
  Duration since;  // the first submission
  std::uint32_t job;
};

std::vector<Occurrence> as_it_is(const Trace& trace, Time first) {
  std::vector<Occurrence> all;
  all.reserve(trace.jobs.size());
  for (std::uint32_t i = 0; i < trace.jobs.size(); ++i)
    all.push_back({trace.jobs[i].submitted - first, i});
  return all;
}

// `from`: where the first day begins. REQUIRES: nothing comes before.
std::vector<Occurrence> resampled(const std::vector<Occurrence>& all, Duration from,
                                  std::uint64_t seed) {
  std::vector<std::vector<Occurrence>> days;
  for (const Occurrence& one : all) {
    const auto day = static_cast<std::size_t>((one.since - from) / kDay);
    if (day >= days.size()) days.resize(day + 1);
    days[day].push_back(one);
  }
  Rng rng(seed);
  std::vector<Occurrence> drawn;
  for (std::size_t day = 0; day < days.size(); ++day) {
    const Duration begin = from + kDay * static_cast<std::int64_t>(day);
    for (const Occurrence& one : days[rng.below(days.size())]) {
      const Duration jitter{rng.between(-kJitter.count(), kJitter.count())};
      drawn.push_back({std::max(from, begin + (one.since - from) % kDay + jitter), one.job});
    }
  }
  return drawn;
}

double drawn_from(const TargetPart& reach, Rng& rng) {
  return reach.low + (reach.high - reach.low) * rng.uniform();
}

// Whole microseconds, and never nothing.
Duration part_of(Duration length, double part) {
  if (part == 1) return length;
  const auto us = std::llround(std::ceil(static_cast<double>(length.count()) * part));
  return Duration{std::max<std::int64_t>(1, us)};
}

Duration loaded(Duration since, double load) {
  if (load == 1) return since;
  return Duration{
      static_cast<std::int64_t>(std::llround(static_cast<double>(since.count()) / load))};
}

}  // namespace

Result<ElasticRule> parse_elastic_rule(std::string_view text) {
  ElasticRule rule;
  const std::string_view all = text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    if (!take_bound(part, "min=", rule.min) && !take_bound(part, "max=", rule.max)) break;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!all.empty() && text.empty()) return rule;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no range of sizes.", all),
              "Give slots or multiples of what the trace asks for: min=1,max=2x.");
}

Workload make_workload(std::shared_ptr<const Trace> trace, std::int64_t slots,
                       const WorkloadOptions& options) {
  check(options.load > 0, "a load is above 0");
  Workload workload{std::move(trace), {}, 0};
  const Trace& source = *workload.trace;
  if (source.jobs.empty()) return workload;
  const Time first = first_of(source);
  auto all = as_it_is(source, first);
  const auto outside = [&](const Occurrence& one) {
    return (options.from && one.since < *options.from) ||
           (options.until && one.since >= *options.until);
  };
  std::erase_if(all, outside);
  if (options.seed != 0 && !all.empty())
    all = resampled(all, options.from.value_or(Duration::zero()), options.seed);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.since < b.since; });
  workload.arrivals.reserve(all.size());
  Rng reaches(options.seed);
  for (const Occurrence& one : all) {
    const TraceJob& job = source.jobs[one.job];
    if (least_slots(job, options.elastic) > slots) {
      ++workload.rejected;
      continue;
    }
    const double reach = options.reach ? drawn_from(*options.reach, reaches) : 1;
    workload.arrivals.push_back({first + loaded(one.since, options.load),
                                 part_of(job.duration, reach), reach,
                                 range_of(job, slots, options.elastic), one.job});
  }
  return workload;
}

JobSpec plain_spec(const TraceJob& job) {
  JobSpec spec;
  spec.devices = job.models;
  // It goes on wherever it was stopped; what that costs is the engine's to say.
  spec.elastic = Elastic::restart;
  return spec;
}

JobSpec own_spec(const TraceJob& job, Time at, const NewestOfLine& newest) {
  JobSpec spec = *job.spec;
  if (spec.deadline) *spec.deadline += at - job.submitted;
  spec.after.clear();
  for (const JobId line : job.spec->after) {
    const auto found = newest.find(line.value);
    if (found != newest.end()) spec.after.push_back(found->second);
  }
  return spec;
}

}  // namespace paceline::sim
