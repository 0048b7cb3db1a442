#include "sim/report/results_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/report/figures.hpp"
#include "sim/report/html.hpp"
#include "sim/report/scale.hpp"

namespace paceline::sim {
namespace {

enum class Kind { time, part, count };

// A column of numbers about each T.
template <class T>
struct Column {
  const char* title;
  Kind kind;
  double (*of)(const T&);
};

constexpr Column<StudyRun> kOfRuns[] = {
    {"average JCT", Kind::time, [](const StudyRun& r) { return r.measures.average_jct; }},
    {"median JCT", Kind::time, [](const StudyRun& r) { return r.measures.median_jct; }},
    {"p99 JCT", Kind::time, [](const StudyRun& r) { return r.measures.p99_jct; }},
    {"average wait", Kind::time, [](const StudyRun& r) { return r.measures.average_wait; }},
    {"makespan", Kind::time, [](const StudyRun& r) { return r.measures.makespan; }},
    {"used", Kind::part, [](const StudyRun& r) { return r.measures.utilization; }},
    {"useful", Kind::part, [](const StudyRun& r) { return r.measures.useful_utilization; }},
    {"stops", Kind::count,
     [](const StudyRun& r) { return static_cast<double>(r.measures.preemptions); }},
    {"resizes", Kind::count,
     [](const StudyRun& r) { return static_cast<double>(r.measures.resizes); }},
    {"lost slot-hours", Kind::count,
     [](const StudyRun& r) {
       const Losses& lost = r.measures.lost;
       return (lost.preemption + lost.resize + lost.failure) / 3600;
     }},
    {"rounds another policy decided", Kind::count,
     [](const StudyRun& r) { return static_cast<double>(r.outcome.failures.rounds); }},
    {"unfair", Kind::part, [](const StudyRun& r) { return r.measures.unfairness.above_one; }},
};

constexpr Column<SizeClass> kOfSizes[] = {
    {"jobs", Kind::count, [](const SizeClass& s) { return static_cast<double>(s.jobs); }},
    {"average JCT", Kind::time, [](const SizeClass& s) { return s.average_jct; }},
    {"median JCT", Kind::time, [](const SizeClass& s) { return s.median_jct; }},
    {"p99 JCT", Kind::time, [](const SizeClass& s) { return s.p99_jct; }},
    {"average wait", Kind::time, [](const SizeClass& s) { return s.average_wait; }},
};

Scale scale_of(Kind kind, const std::vector<double>& values) {
  if (kind == Kind::part) return Scale::of_parts();
  return kind == Kind::time ? Scale::of_times(values) : Scale::of_counts(values);
}

// The columns that say something of these, each with the way its numbers are written.
template <class T, std::size_t N>
std::vector<std::pair<Column<T>, Scale>> scaled(const Column<T> (&columns)[N],
                                                const std::vector<const T*>& all) {
  std::vector<std::pair<Column<T>, Scale>> shown;
  for (const Column<T>& column : columns) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const T* one : all) values.push_back(column.of(*one));
    const bool none = std::ranges::all_of(values, [](double value) { return value == 0; });
    if (column.kind == Kind::count && none) continue;
    shown.emplace_back(column, scale_of(column.kind, values));
  }
  return shown;
}

template <class Columns>
std::vector<std::string> header_of(std::vector<std::string> words, const Columns& columns) {
  for (const auto& [column, scale] : columns) words.push_back(scale.title(column.title));
  return words;
}

std::vector<const StudyRun*> all_runs(const Study& study) {
  std::vector<const StudyRun*> runs;
  for (const StudyRun& run : study.runs) runs.push_back(&run);
  return runs;
}

// "3.14", of several seeds with "2.71–3.50" below it.
std::string mean_text(const std::vector<double>& values, std::uint64_t seed, const Scale& scale) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const std::string mean = scale.text(sum / static_cast<double>(values.size()));
  if (values.size() == 1) return mean;
  const auto [low, high] = bootstrap_mean(values, seed);
  return fmt::format("{}\n{}–{}", mean, scale.text(low), scale.text(high));
}

// What policies are compared in, by its key in a run's JSON.
constexpr std::pair<const char*, const char*> kCompared[] = {
    {"average_jct_seconds", "average JCT"},
    {"p99_jct_seconds", "p99 JCT"},
    {"average_wait_seconds", "average wait"},
    {"makespan_seconds", "makespan"}};

// "0.42", of several seeds with "0.38–0.45" below it.
std::string ratio_text(const Study& study, std::size_t policy, const char* key) {
  const auto found = std::ranges::find_if(study.comparisons, [&](const Comparison& one) {
    return one.policy == policy && one.measure == key;
  });
  if (found == study.comparisons.end()) return "none";  // the first policy's is 0
  if (!found->low || !found->high) return fmt::format("{:.3f}", found->ratio);
  return fmt::format("{:.3f}\n{:.3f}–{:.3f}", found->ratio, *found->low, *found->high);
}

std::string range_text(const SizeClass& one) {
  return one.least == one.most ? fmt::format("{}", one.most)
                               : fmt::format("{}–{}", one.least, one.most);
}

}  // namespace

std::string policies_table(const Study& study, const StudyPlan& plan) {
  const auto columns = scaled(kOfRuns, all_runs(study));
  const std::size_t seeds = plan.seeds.size();
  HtmlTable table(seeds == 1 ? "Each policy on the trace as it is."
                             : fmt::format("Each policy: means over {} seeds, and below them their "
                                           "95 % intervals.",
                                           seeds),
                  header_of({"policy"}, columns), 1);
  for (std::size_t policy = 0; policy < plan.policies.size(); ++policy) {
    std::vector<std::string> row{plan.policies[policy].text()};
    for (const auto& [column, scale] : columns) {
      std::vector<double> values;
      for (std::size_t i = 0; i < seeds; ++i)
        values.push_back(column.of(study.runs[policy * seeds + i]));
      row.push_back(mean_text(values, plan.seeds.front(), scale));
    }
    table.add(row, true);
  }
  return std::move(table).take();
}

std::string comparisons_table(const Study& study, const StudyPlan& plan) {
  const std::string first = plan.policies.front().text();
  std::vector<std::string> header{"policy"};
  for (const auto& [key, name] : kCompared) header.emplace_back(name);
  HtmlTable table(fmt::format("Each policy against {0}: its measure / that of {0}{1}.", first,
                              plan.seeds.size() == 1 ? "" : ", seed by seed"),
                  header, 1);
  for (std::size_t policy = 1; policy < plan.policies.size(); ++policy) {
    std::vector<std::string> row{plan.policies[policy].text()};
    for (const auto& [key, name] : kCompared) row.push_back(ratio_text(study, policy, key));
    table.add(row, true);
  }
  return std::move(table).take();
}

std::string sizes_table(const Study& study, const StudyPlan& plan) {
  std::vector<const SizeClass*> all;
  std::map<std::int32_t, std::vector<std::pair<std::size_t, const SizeClass*>>> by_size;
  for (const StudyRun* run : first_runs(study, plan)) {
    for (const SizeClass& one : run->details->sizes) {
      all.push_back(&one);
      by_size[one.most].emplace_back(run->policy, &one);
    }
  }
  const auto columns = scaled(kOfSizes, all);
  HtmlTable table("Jobs by the slots that they asked for.", header_of({"slots", "policy"}, columns),
                  2);
  for (const auto& [most, of_policies] : by_size) {
    bool begins = true;
    for (const auto& [policy, one] : of_policies) {
      std::vector<std::string> row{begins ? range_text(*one) : "", plan.policies[policy].text()};
      for (const auto& [column, scale] : columns) row.push_back(scale.text(column.of(*one)));
      table.add(row, std::exchange(begins, false));
    }
  }
  return std::move(table).take();
}

std::string jobs_table(const Study& study, const StudyPlan& plan) {
  const Trace& trace = *plan.trace;
  HtmlTable table(
      fmt::format("The trace has {} jobs; left out of it before: {} without slots, {} without "
                  "duration, {} lines that can't be read.",
                  trace.jobs.size(), trace.no_slots, trace.no_duration, trace.bad_lines),
      {"policy", "outside the span", "larger than the cluster", "refused", "simulated",
       "unfinished", "counted"},
      1);
  for (const StudyRun* run : first_runs(study, plan)) {
    const std::size_t submitted = run->details->submitted, refused = run->outcome.refused;
    const std::size_t outside = trace.jobs.size() - submitted - refused - run->rejected;
    std::vector<std::string> row{plan.policies[run->policy].text()};
    for (const std::size_t count :
         {outside, run->rejected, refused, submitted, run->outcome.unfinished, run->measures.jobs})
      row.push_back(std::to_string(count));
    table.add(row);
  }
  return std::move(table).take();
}

std::string runs_table(const Study& study, const StudyPlan& plan) {
  const auto columns = scaled(kOfRuns, all_runs(study));
  std::vector<std::string> header = header_of({"policy", "seed"}, columns);
  header.insert(header.end(), {"unfinished", "digest"});
  HtmlTable table("Seed 0 is the trace as it is.", header, 1);
  for (const StudyRun& run : study.runs) {
    std::vector<std::string> row{plan.policies[run.policy].text(), std::to_string(run.seed)};
    for (const auto& [column, scale] : columns) row.push_back(scale.text(column.of(run)));
    row.push_back(std::to_string(run.outcome.unfinished));
    row.push_back(fmt::format("{:016x}", run.outcome.digest));
    table.add(row, run.seed == plan.seeds.front());
  }
  return std::move(table).take();
}

}  // namespace paceline::sim
