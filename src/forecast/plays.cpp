#include "forecast/plays.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace paceline {
namespace {

constexpr std::array kPlays = {Lengths::likely, Lengths::low, Lengths::high};

bool waits_to_start(const Job& job) {
  return job.state == JobState::pending || job.state == JobState::starting;
}

}  // namespace

Plays::Plays(StateParts parts, Time now, Decider decider, const Placer& placer, Protects protects)
    : parts_(std::move(parts)),
      now_(now),
      decider_(std::move(decider)),
      placer_(placer),
      protects_(protects) {
  std::vector<JobId> over;
  for (const Job& job : parts_.jobs)
    if (is_over(job.state)) over.push_back(job.id);
  for (const JobId job : over) parts_.jobs.take_out(job);
}

bool Plays::step() {
  if (played_.size() == kPlays.size()) return false;
  if (!play_) {
    play_.emplace(parts_, now_, decider_, placer_, protects_, kPlayRoundsMax,
                  kPlays.at(played_.size()));
    return true;
  }
  if (!play_->step()) keep();
  return true;
}

void Plays::cut() {
  if (play_) keep();
}

void Plays::keep() {
  played_.push_back({play_->marks(), play_->now(), play_->complete()});
  play_.reset();
}

Expectations Plays::expectations() const {
  check(played_.size() == kPlays.size(), "all plays are over");
  Expectations all{parts_.seq, now_, {}};
  const std::vector<End> ends = this->ends();
  for (const Job& job : parts_.jobs) {
    JobExpected& into = all.jobs[job.id];
    if (stands_still(job)) continue;
    if (waits_to_start(job)) into.start = expected(job.id, &ForecastMark::started);
    into.end = expected(job.id, &ForecastMark::ended);
    hang_on(ends, into);
    if (into.end) into.end->known = std::min(into.end->known, length_source(job));
  }
  return all;
}

// Nothing, where no play knows anything that would bring it about.
std::optional<ExpectedTime> Plays::expected(JobId job, Milestone milestone) const {
  ExpectedTime found;
  bool first = true, bounded = true, any = false;
  for (const Play& play : played_) {
    const auto& at = play.marks.at(job).*milestone;
    if (!at) bounded = false;
    if (!at && play.complete) continue;
    any = true;
    const Time reached = at.value_or(play.horizon);
    found.earliest = first ? reached : std::min(found.earliest, reached);
    found.latest = first ? reached : std::max(*found.latest, reached);
    first = false;
  }
  if (!any) return std::nullopt;
  found.at = played_.front().marks.at(job).*milestone;
  if (!bounded) found.latest.reset();
  return found;
}

std::vector<Plays::End> Plays::ends() const {
  std::vector<End> ends;
  for (const auto& [job, mark] : played_.front().marks)
    if (mark.ended) ends.push_back({*mark.ended, job, length_source(*parts_.jobs.find(job))});
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return std::pair(a.at, a.job) < std::pair(b.at, b.job);
  });
  for (std::size_t i = 1; i < ends.size(); ++i)
    ends[i].known = std::min(ends[i].known, ends[i - 1].known);
  return ends;
}

// A start hangs on the lengths of all that end before it.
void Plays::hang_on(const std::vector<End>& ends, JobExpected& job) const {
  if (!job.start) return;
  const auto end = !job.start->at
                       ? ends.end()
                       : std::upper_bound(ends.begin(), ends.end(), *job.start->at,
                                          [](Time at, const End& e) { return at < e.at; });
  if (end == ends.begin()) return;
  const End& last = *std::prev(end);
  job.start->known = last.known;
  if (job.end) job.end->known = last.known;
  if (job.start->at && last.at == *job.start->at && last.at > now_) job.after = last.job;
}

}  // namespace paceline
