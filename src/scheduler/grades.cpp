#include "scheduler/grades.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

namespace paceline {
namespace {

constexpr Duration kToldEvery = std::chrono::minutes{1};
constexpr double kInside = 0.8;
constexpr double kSideMin = 0.05;
constexpr double kWideningMin = 0.25, kWideningMax = 10;
constexpr Duration kSlack = std::chrono::seconds{1};  // a start and an end take a moment themselves

// The middle of them, or another part of the way.
double quantile(std::vector<double> values, double part) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::lround(part * last));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// Only what its owner or a failure did to it ended it.
bool tells_of_forecasts(const Job& job) {
  return job.state == JobState::completed || job.state == JobState::timeout;
}

bool stopped_by_people(const Job& job) { return job.held || job.paused_at.has_value(); }

Duration scaled(Duration span, double by) { return from_seconds(to_seconds(span) * by); }

// One side of an interval, which is never nothing: else no widening would reach it.
Duration least_side(Duration side, Duration ahead) {
  return std::max({side, kSlack, scaled(ahead, kSideMin)});
}

}  // namespace

std::string_view to_string(Milestone milestone) {
  return milestone == Milestone::start ? "start" : "end";
}

void Grades::told(JobId job, const JobExpected& expected, Time now) {
  add({job, Milestone::start}, expected.start, now);
  add({job, Milestone::end}, expected.end, now);
}

// What begins now is no foresight.
void Grades::add(Key key, const std::optional<ExpectedTime>& expected, Time now) {
  if (!expected || !expected->at || *expected->at <= now + kSlack || waiting_ >= kToldMax) return;
  auto& told = told_[key];
  const bool again = told.empty() || now - told.back().told >=
                                         std::max(kToldEvery, told.back().told - told.front().told);
  if (!again || told.size() >= kToldPerJobMax) return;
  told.push_back({*expected->at, now, expected->earliest, expected->latest, expected->known,
                  expected->widened});
  ++waiting_;
  changed_ = true;
}

void Grades::follow(const State& state, std::span<const JobId> touched) {
  if (told_.empty()) return;
  for (const JobId id : touched) {
    const Key start{id, Milestone::start}, end{id, Milestone::end};
    const Job* job = state.find_job(id);
    if (!job || stopped_by_people(*job) || (is_over(job->state) && !tells_of_forecasts(*job))) {
      drop(start);
      drop(end);
      continue;
    }
    if (job->state == JobState::running) grade(start, job->changed_at);
    if (is_over(job->state)) {
      grade(start, job->ended_at.value_or(state.at()));
      grade(end, job->ended_at.value_or(state.at()));
    }
  }
}

void Grades::resume(const State& state) {
  std::vector<JobId> jobs;
  for (const auto& [key, told] : told_) jobs.push_back(key.first);
  follow(state, jobs);
}

void Grades::drop(Key key) {
  const auto found = told_.find(key);
  if (found == told_.end()) return;
  waiting_ -= found->second.size();
  told_.erase(found);
  changed_ = true;
}

void Grades::grade(Key key, Time truth) {
  const auto found = told_.find(key);
  if (found == told_.end()) return;
  for (const Told& told : found->second) {
    const bool early = truth < told.at;
    const bool endless = !early && !told.latest;
    const Duration side = early     ? told.at - told.earliest
                          : endless ? Duration::zero()
                                    : *told.latest - told.at;
    const Duration played = least_side(scaled(side, 1 / told.widened), told.at - told.told);
    Grade grade;
    grade.error = std::chrono::abs(truth - told.at);
    grade.ratio = to_seconds(grade.error) / std::max(1.0, to_seconds(truth - told.told));
    grade.inside = endless || grade.error <= std::max(side, kSlack);
    grade.score = endless ? 0 : to_seconds(grade.error) / to_seconds(played);
    const Kind kind{key.second, told.known};
    auto& grades = grades_[kind];
    grades.push_back(grade);
    if (grades.size() > kGradesMax) grades.pop_front();
    widening_[kind] = widening(kind);
  }
  drop(key);
}

// The part of past scores that shall be inside, with one more for the next.
double Grades::widening(Kind kind) const {
  const auto found = grades_.find(kind);
  if (found == grades_.end() || found->second.size() < kGradesToLearnFrom) return 1;
  std::vector<double> scores;
  for (const Grade& grade : found->second) scores.push_back(grade.score);
  const auto n = static_cast<double>(scores.size());
  const double part = std::min(1.0, kInside * (n + 1) / n);
  return std::clamp(quantile(std::move(scores), part), kWideningMin, kWideningMax);
}

void Grades::adjust(Expectations& expectations) const {
  for (auto& [id, job] : expectations.jobs) {
    adjust(Milestone::start, job.start, expectations.as_of);
    adjust(Milestone::end, job.end, expectations.as_of);
  }
}

void Grades::adjust(Milestone of, std::optional<ExpectedTime>& expected, Time now) const {
  if (!expected || !expected->at || *expected->at <= now) return;
  const auto found = widening_.find({of, expected->known});
  if (found == widening_.end()) return;
  const double by = found->second;
  const Time at = *expected->at;
  expected->widened = by;
  const auto side = [&](Duration played) { return scaled(least_side(played, at - now), by); };
  expected->earliest = std::max(now, at - side(at - expected->earliest));
  if (expected->latest) expected->latest = at + side(*expected->latest - at);
}

std::vector<GradeSummary> Grades::summary() const {
  std::vector<GradeSummary> all;
  for (const auto& [kind, grades] : grades_) {
    GradeSummary& into = all.emplace_back();
    into.of = kind.of;
    into.known = kind.known;
    into.graded = grades.size();
    std::vector<double> errors, ratios;
    for (const Grade& grade : grades) {
      into.inside += grade.inside ? 1U : 0U;
      errors.push_back(to_seconds(grade.error));
      ratios.push_back(grade.ratio);
    }
    into.median_error = from_seconds(quantile(std::move(errors), 0.5));
    into.median_ratio = quantile(std::move(ratios), 0.5);
    into.widened = widening_.at(kind);
  }
  return all;
}

bool Grades::take_changed() { return std::exchange(changed_, false); }

// Lines: "told JOB of known at told earliest latest-or-0 widened", "grade of known error ratio score
// inside"; times in microseconds.
std::string Grades::text() const {
  std::string text;
  const auto into = std::back_inserter(text);
  for (const auto& [key, list] : told_) {
    for (const Told& told : list) {
      fmt::format_to(into, "told {} {} {} {} {} {} {} {}\n", key.first.value,
                     static_cast<int>(key.second), static_cast<int>(told.known), to_us(told.at),
                     to_us(told.told), to_us(told.earliest), told.latest ? to_us(*told.latest) : 0,
                     told.widened);
    }
  }
  for (const auto& [kind, list] : grades_) {
    for (const Grade& grade : list) {
      fmt::format_to(into, "grade {} {} {} {} {} {}\n", static_cast<int>(kind.of),
                     static_cast<int>(kind.known), grade.error.count(), grade.ratio, grade.score,
                     grade.inside ? 1 : 0);
    }
  }
  return text;
}

Grades Grades::parse(std::string_view text) {
  Grades read;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    std::uint32_t job = 0;
    int of = 0, known = 0, inside = 0;
    std::int64_t at = 0, told = 0, earliest = 0, latest = 0, error = 0;
    double widened = 1, ratio = 0, score = 0;
    words >> what;
    if (what == "told" && read.waiting_ < kToldMax &&
        words >> job >> of >> known >> at >> told >> earliest >> latest >> widened) {
      if (of < 0 || of > 1 || known < 0 || known > 3) continue;
      auto& list = read.told_[{JobId{job}, static_cast<Milestone>(of)}];
      list.push_back({time_from_us(at), time_from_us(told), time_from_us(earliest),
                      latest == 0 ? std::nullopt : std::optional(time_from_us(latest)),
                      static_cast<LengthSource>(known), widened});
      ++read.waiting_;
    } else if (what == "grade" && words >> of >> known >> error >> ratio >> score >> inside) {
      if (of < 0 || of > 1 || known < 0 || known > 3) continue;
      const Kind kind{static_cast<Milestone>(of), static_cast<LengthSource>(known)};
      auto& list = read.grades_[kind];
      if (list.size() < kGradesMax) list.push_back({Duration{error}, ratio, score, inside == 1});
    }
  }
  for (const auto& [kind, list] : read.grades_) read.widening_[kind] = read.widening(kind);
  return read;
}

}  // namespace paceline
