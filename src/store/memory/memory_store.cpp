#include "store/memory/memory_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "store/point_choice.hpp"

namespace paceline {
namespace {

// The point with the value of `name` alone; nothing if it has none.
std::optional<MetricPoint> only(const MetricPoint& point, std::string_view name) {
  const auto found = point.values.find(std::string(name));
  if (found == point.values.end()) return {};
  MetricPoint one = point;
  one.values = {*found};
  return one;
}

}  // namespace

Result<State> MemoryStore::load() {
  State state(checkpoint_);
  while (state.seq() < journal_.size()) {
    const auto& entry = journal_[state.seq()];
    for (const auto job : apply(state, entry)) folded_.insert(job);
    if (const auto* left = forgotten_by(entry))
      folded_.insert(left->jobs.begin(), left->jobs.end());
  }
  return state;
}

Result<void> MemoryStore::append(const Batch& batch) {
  if (refusal_) return fail(*refusal_);
  for (const auto& entry : batch.entries) {
    check(entry.seq == journal_.size() + 1, "entries follow the journal's last");
    journal_.push_back(entry);
    if (const auto* event = std::get_if<Event>(&entry.body)) {
      if (const auto* report = std::get_if<Progressed>(event)) unjournalled_.erase(report->job);
    }
    if (const auto* left = forgotten_by(entry))
      folded_.insert(left->jobs.begin(), left->jobs.end());
  }
  for (const auto& job : batch.forgotten) {
    forgotten_.insert_or_assign(job.id, job);
    remains_[job.id] = {Kept::whole, job.state, job.ended_at.value_or(Time()), 0, std::nullopt};
  }
  for (const auto& [job, launch] : batch.launches) launches_[job] = launch;
  for (const auto& [job, notify] : batch.notify) notify_[job] = notify;
  for (const Job& job : batch.forgotten) notify_.erase(job.id);
  for (const auto& point : batch.points) store_point(point);
  for (const PassedOver& more : batch.passed_over) {
    auto& known = points_[more.process.job].passed_over[more.process];
    known = {more.process, known.points + more.points, std::max(known.newest, more.newest)};
  }
  for (const auto& report : batch.unjournalled) unjournalled_.insert_or_assign(report.job, report);
  for (const auto& key : batch.keys) submissions_[{key.uid, key.key}] = key;
  return {};
}

Result<void> MemoryStore::checkpoint(const State& state, std::span<const JobId> changed) {
  if (refusal_) return fail(*refusal_);
  check(state.seq() == journal_.size(), "a checkpoint is of the journal's last entry");
  const auto& parts = state.parts();
  auto jobs = std::move(checkpoint_.jobs);
  jobs.give(parts.jobs.given());
  folded_.insert(changed.begin(), changed.end());
  for (const auto id : std::exchange(folded_, {})) {
    const Job* job = state.find_job(id);
    if (!job || is_over(job->state)) forget_secrets(id);
    if (job)
      jobs.put(*job);
    else
      jobs.take_out(id);
  }
  checkpoint_ = {parts.seq,       parts.round,        parts.at,    parts.nodes,
                 std::move(jobs), parts.periods,      parts.memo,  parts.scripts,
                 parts.names,     parts.interference, parts.trial, parts.bills,
                 parts.rules,     parts.clock_marks,  parts.boot,  parts.forgotten,
                 parts.fold_rules};
  return {};
}

Result<void> MemoryStore::prove() {
  if (refusal_) return fail(*refusal_);
  return {};
}

Result<std::vector<Entry>> MemoryStore::entries(std::uint64_t seq, std::size_t limit) {
  const auto first = std::min<std::uint64_t>(std::max<std::uint64_t>(seq, 1) - 1, journal_.size());
  const auto count = std::min<std::uint64_t>(limit, journal_.size() - first);
  const auto begin = journal_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<Entry>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<Job>> MemoryStore::forgotten(JobId from, std::size_t limit) {
  std::vector<Job> page;
  for (auto it = forgotten_.lower_bound(from); it != forgotten_.end() && page.size() < limit; ++it)
    page.push_back(it->second);
  return page;
}

Result<std::vector<Progressed>> MemoryStore::unjournalled() {
  std::vector<Progressed> reports;
  for (const auto& [job, report] : unjournalled_) reports.push_back(report);
  return reports;
}

Result<std::vector<std::pair<JobId, Notify>>> MemoryStore::notify(JobId from) {
  return std::vector<std::pair<JobId, Notify>>(notify_.lower_bound(from), notify_.end());
}

Result<std::uint64_t> MemoryStore::passed_over(JobId job) {
  std::int64_t points = 0;
  if (const auto of_job = points_.find(job); of_job != points_.end())
    for (const auto& [process, passed] : of_job->second.passed_over) points += passed.points;
  return static_cast<std::uint64_t>(points);
}

Result<std::uint64_t> MemoryStore::newest_report(const ProcessKey& process) {
  const auto of_job = points_.find(process.job);
  if (of_job == points_.end()) return 0;
  const auto& [points, last, known, passed_over] = of_job->second;
  const auto passed = passed_over.find(process);
  const std::uint64_t newest = passed == passed_over.end() ? 0 : passed->second.newest;
  const auto behind =
      known.upper_bound({process.born, process.number, std::numeric_limits<std::uint64_t>::max()});
  if (behind == known.begin()) return newest;
  const auto& [born, number, report] = *std::prev(behind);
  return born == process.born && number == process.number ? std::max(report, newest) : newest;
}

Result<LaunchSpec> MemoryStore::launch(JobId job) {
  const auto found = launches_.find(job);
  if (found != launches_.end()) return found->second;
  return fail(ErrorCode::not_found,
              fmt::format("Nothing is stored about how to start job {}.", job.value));
}

Result<PointPage> MemoryStore::points(JobId job, std::string_view name, std::uint64_t from,
                                      std::size_t limit) {
  PointPage page{{}, std::max<std::uint64_t>(from, 1)};
  const auto of_job = points_.find(job);
  if (of_job == points_.end()) return page;
  const auto& stored = of_job->second.points;
  std::size_t looked_at = 0;
  for (auto it = stored.lower_bound(page.next); it != stored.end(); ++it) {
    if (looked_at++ == kPointsScanMax || page.points.size() >= limit) break;
    const auto& [number, point] = *it;
    page.next = number + 1;
    auto kept = name.empty() ? std::optional(point) : only(point, name);
    if (kept) page.points.push_back({number, std::move(*kept)});
  }
  return page;
}

Result<std::optional<JobId>> MemoryStore::find_submission(std::uint32_t uid, std::string_view key,
                                                          Time now) {
  const auto found = submissions_.find({uid, std::string(key)});
  if (found == submissions_.end() || now - found->second.at >= kSubmissionRemembered) {
    return std::nullopt;
  }
  return found->second.job;
}

Result<std::optional<EndedJob>> MemoryStore::first_ended(Kept kept) {
  std::optional<EndedJob> first;
  for (const auto& [job, left] : remains_) {
    if (left.kept == kept && (!first || left.ended_at < first->at))
      first = EndedJob{job, left.ended_at};
  }
  return first;
}

Result<bool> MemoryStore::thin(JobId job) {
  if (refusal_) return fail(*refusal_);
  auto& left = remains_.at(job);
  auto& points = points_[job];
  PointChoice choice(points.last);
  std::vector<std::uint64_t> drop;
  for (auto it = points.points.rbegin(); it != points.points.rend(); ++it)
    if (!choice.keeps(it->first, it->second.values)) drop.push_back(it->first);
  for (const auto number : drop) points.points.erase(number);
  left.kept = Kept::thinned;
  left.points = points.last;
  return true;
}

Result<bool> MemoryStore::drop(JobId job, Time now) {
  if (refusal_) return fail(*refusal_);
  auto& left = remains_.at(job);
  check(left.kept == Kept::thinned, "a job is thinned before it is dropped");
  points_.erase(job);
  launches_.erase(job);
  forgotten_.erase(job);
  left.kept = Kept::nothing;
  left.dropped_at = now;
  return true;
}

Result<std::optional<Remains>> MemoryStore::remains(JobId job) {
  const auto found = remains_.find(job);
  return found == remains_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryStore::forget_secrets(JobId job) {
  const auto found = launches_.find(job);
  if (found == launches_.end()) return;
  found->second.environment.clear();
  found->second.setup.clear();
}

void MemoryStore::store_point(const MetricPoint& point) {
  auto& of_job = points_[point.job];
  if (of_job.known.insert({point.born, point.number, point.report}).second) {
    of_job.points.emplace(++of_job.last, point);
  }
}

}  // namespace paceline
