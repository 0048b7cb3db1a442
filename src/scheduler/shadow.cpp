#include "scheduler/shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "plan/apply.hpp"

namespace paceline {
namespace {

// What a plan does, whatever its words and the order in which it says them.
using SeatKey = std::pair<NodeId, std::vector<std::uint32_t>>;
using Consequence = std::tuple<JobId, ChangeKind, std::vector<SeatKey>>;

std::vector<Consequence> effects_of(const std::vector<Change>& changes) {
  std::vector<Consequence> effects;
  for (const Change& change : changes) {
    auto& [job, kind, seats] =
        effects.emplace_back(change.job, change.kind, std::vector<SeatKey>());
    for (const Seat& seat : change.placement) seats.emplace_back(seat.node, seat.slots);
  }
  std::sort(effects.begin(), effects.end());
  return effects;
}

std::vector<Change> first_of(const std::vector<Change>& changes) {
  const auto count = std::min(changes.size(), kShadowChangesMax);
  return {changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(count)};
}

void remember(std::map<std::string, std::string>& memo, const Plan& plan) {
  for (const auto& [key, value] : plan.memo) {
    if (value.empty())
      memo.erase(key);
    else
      memo[key] = value;
  }
}

// From where a job's service counts: for the live policy, and for the candidate.
struct ServiceFrom {
  double live = 0, shadow = 0;
};

bool is_of_trials(const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  return event &&
         (std::holds_alternative<TrialBegan>(*event) || std::holds_alternative<TrialEnded>(*event));
}

std::optional<ShadowReport> new_report(const std::optional<PolicyTrial>& trial, Time now) {
  if (!trial) return {};
  ShadowReport report;
  report.policy = trial->name;
  report.parameters = trial->parameters;
  report.since = trial->since;
  report.counted_since = now;
  return report;
}

}  // namespace

// What the working side holds of a trial.
struct Shadow::Trial {
  // Of a job that either of the two counts anew from now on.
  ServiceFrom& service_of(JobId job) {
    const double from = state->job(job).service_from;
    return service.try_emplace(job, ServiceFrom{from, from}).first->second;
  }

  std::uint64_t number = 0;
  std::string name;
  Parameters parameters;
  Time began;
  std::optional<State> state;  // nothing: it could not be read
  std::map<std::string, std::string> memo;
  std::map<JobId, ServiceFrom> service;  // of jobs that are not over
  std::unique_ptr<Policy> candidate;     // nullptr: it can't be made any more
  std::string missing;                   // why not
  std::optional<Lineup> live;
  std::optional<Time> forecast_at;                           // when the last one began
  std::unique_ptr<Forecast> live_forecast, shadow_forecast;  // under way, or neither
  ForecastSamples samples;
};

Shadow::Shadow(Rules rules) : rules_(std::move(rules)) {}
Shadow::~Shadow() = default;

// ---- the live side ----

std::size_t Shadow::rounds_in(const std::vector<Item>& items) {
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const Item& item) {
    return std::holds_alternative<Round>(item);
  }));
}

void Shadow::resume(const State& live, Time now) {
  pending_.clear();
  seen_ = new_report(live.trial(), now);
  replaced_ = true;
  hand_over();
}

void Shadow::round(const Snapshot& live, std::span<const Change> changes) {
  if (seen_)
    pending_.emplace_back(Round{live.now, live.state.seq(), {changes.begin(), changes.end()}});
  hand_over();
}

void Shadow::take(std::span<const Entry> entries, const State& live) {
  if (std::any_of(entries.begin(), entries.end(), is_of_trials)) return resume(live, live.at());
  if (seen_) pending_.insert(pending_.end(), entries.begin(), entries.end());
  hand_over();
}

void Shadow::hand_over() {
  if (pending_.empty() && !replaced_) return;
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) hand_over_locked();
  if (pending_.size() > kQueueMax) {
    rounds_lost_ += rounds_in(pending_);
    pending_.clear();
    lost_ = true;
  }
  wake();
}

void Shadow::hand_over_locked() {
  if (std::exchange(replaced_, false)) {
    report_ = seen_;
    rounds_queued_ = rounds_lost_ = 0;
    ++trials_;
    anew_ = true;
  }
  anew_ = std::exchange(lost_, false) || anew_ || queue_.size() > kQueueMax;
  rounds_queued_ += rounds_in(pending_) + std::exchange(rounds_lost_, 0);
  if (!anew_) std::move(pending_.begin(), pending_.end(), std::back_inserter(queue_));
  pending_.clear();
}

std::optional<ShadowReport> Shadow::report() {
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    hand_over_locked();
    seen_ = report_;
  }
  wake();
  return seen_;
}

void Shadow::on_work(std::function<void()> wake) { wake_ = std::move(wake); }

void Shadow::wake() const {
  if (wake_) wake_();
}

// ---- the working side ----

const State& Shadow::state() const {
  check(trial_ && trial_->state, "a policy is tried");
  return *trial_->state;
}

bool Shadow::work() {
  if (const auto item = next_item()) {
    std::visit([&](const auto& one) { handle(one); }, *item);
    return true;
  }
  if (!trial_ || !trial_->live_forecast) return false;
  go_on_forecasting();
  return true;
}

// Takes the next item, and a new trial's beginning or an old one's end to heart. What is over is
// destroyed without the lock.
std::optional<Shadow::Item> Shadow::next_item() {
  std::unique_ptr<Trial> over;
  std::deque<Item> passed;
  const std::lock_guard lock(mutex_);
  if (trial_ && (trial_->number != trials_ || !report_)) over = std::move(trial_);
  if (anew_) passed.swap(queue_);
  const bool anew = std::exchange(anew_, false);
  if (!report_) return std::nullopt;
  if (!trial_) begin_trial();
  if (anew) {
    report_->skipped += std::exchange(rounds_queued_, 0);
    return Reading{};
  }
  if (queue_.empty()) return std::nullopt;
  Item item = std::move(queue_.front());
  queue_.pop_front();
  if (std::holds_alternative<Round>(item)) --rounds_queued_;
  return item;
}

void Shadow::begin_trial() {
  trial_ = std::make_unique<Trial>();
  trial_->number = trials_;
  trial_->name = report_->policy;
  trial_->parameters = report_->parameters;
  trial_->began = report_->counted_since;
}

void Shadow::tell(const std::function<void(ShadowReport&)>& change) {
  const std::lock_guard lock(mutex_);
  if (report_ && trial_->number == trials_) change(*report_);
}

// What the candidate counted anew stays so.
void Shadow::handle(const Reading&) {
  Trial& trial = *trial_;
  trial.live_forecast.reset();
  trial.shadow_forecast.reset();
  trial.state.reset();
  auto read = rules_.read();
  if (!read) return fail_round(read.error().message);
  if (!read->trial()) return fail_round("The journal that was read tells of no trial.");
  trial.state.emplace(std::move(*read));
  std::erase_if(trial.service, [&](const auto& of) {
    const Job* job = trial.state->find_job(of.first);
    return !job || is_over(job->state);
  });
  for (auto& [job, service] : trial.service) {
    service.live = trial.state->job(job).service_from;
    set_service_from(*trial.state, job, service.shadow);
  }
  make_policies();
  begin_forecast(std::max(trial.began, trial.state->at()), rules_.forecast_every);
}

void Shadow::handle(const Entry& entry) {
  Trial& trial = *trial_;
  if (!trial.state || entry.seq <= trial.state->seq()) return;
  if (entry.seq > trial.state->seq() + 1) {
    trial.state.reset();
    return fail_round("The journal that was read lacks entries.");
  }
  fold(entry);
  const auto* event = std::get_if<Event>(&entry.body);
  if (!event) return;
  const bool switched = std::holds_alternative<PolicySet>(*event);
  if (!switched && !std::holds_alternative<PolicyLoaded>(*event)) return;
  make_policies();
  if (!switched) return;
  trial.samples = {};
  tell([](ShadowReport& report) { report.forecast = {}; });
}

// What counts anew under the live policy is kept apart.
void Shadow::fold(const Entry& entry) {
  Trial& trial = *trial_;
  const auto* plan = std::get_if<Plan>(&entry.body);
  const auto counted_anew = plan ? std::span(plan->counted_anew) : std::span<const JobId>();
  for (const JobId job : counted_anew) trial.service_of(job);
  for (const JobId job : apply(*trial.state, entry)) {
    if (is_over(trial.state->job(job).state)) trial.service.erase(job);
  }
  for (const JobId job : counted_anew) {
    ServiceFrom& service = trial.service.at(job);
    service.live = trial.state->job(job).service_from;
    set_service_from(*trial.state, job, service.shadow);
  }
}

// Of the state as it is now; forecasts under the former ones are dropped.
void Shadow::make_policies() {
  Trial& trial = *trial_;
  trial.live_forecast.reset();
  trial.shadow_forecast.reset();
  trial.live.emplace(*trial.state, rules_.registry, rules_.last);
  auto made = make_policy(*trial.state, rules_.registry, trial.name, trial.parameters);
  trial.missing = made ? "" : made.error().message;
  trial.candidate = made ? std::move(*made) : nullptr;
}

void Shadow::handle(const Round& round) {
  Trial& trial = *trial_;
  if (passes_over(round)) return;
  if (!trial.state) return handle(Reading{});
  swap_memo(*trial.state, trial.memo);
  const auto plan = decide({*trial.state, round.now});
  swap_memo(*trial.state, trial.memo);
  if (!plan) return fail_round(plan.error().message);
  const bool differs = compare(round, *plan);
  begin_forecast(round.now, differs ? rules_.forecast_after_difference : rules_.forecast_every);
}

// There are newer ones, or what was read already knows how it ended.
bool Shadow::passes_over(const Round& round) {
  bool passed = trial_->state && round.seq < trial_->state->seq();
  tell([&](ShadowReport& report) {
    passed = passed || rounds_queued_ >= kBehindMax;
    if (passed) ++report.skipped;
  });
  return passed;
}

Result<Plan> Shadow::decide(const Snapshot& snapshot) const {
  if (!trial_->candidate) return fail(ErrorCode::not_found, trial_->missing);
  Draft draft(snapshot, rules_.placer, rules_.protects);
  return paceline::decide(draft, decider(*trial_->candidate));
}

// True if the two differ.
bool Shadow::compare(const Round& round, const Plan& plan) {
  Trial& trial = *trial_;
  remember(trial.memo, plan);
  for (const JobId job : plan.counted_anew) {
    ServiceFrom& service = trial.service_of(job);
    service.shadow = trial.state->job(job).slot_seconds;
    set_service_from(*trial.state, job, service.shadow);
  }
  const bool differs = effects_of(round.live) != effects_of(plan.changes);
  tell([&](ShadowReport& report) {
    ++report.rounds;
    if (!plan.memo.empty()) report.memo = trial.memo;
    if (!differs) return;
    ++report.differed;
    report.differences.push_back(
        {plan.round, round.now, first_of(round.live), first_of(plan.changes)});
    if (report.differences.size() > kShadowRoundsMax) report.differences.pop_front();
  });
  return differs;
}

void Shadow::fail_round(const std::string& why) {
  tell([&](ShadowReport& report) {
    ++report.failed;
    report.failure = why;
  });
}

// Both from the same state, if the last began at least `apart` ago and is done.
void Shadow::begin_forecast(Time now, Duration apart) {
  Trial& trial = *trial_;
  const bool due = !trial.forecast_at || now - *trial.forecast_at >= apart;
  const bool small = trial.state->queue().size() <= kForecastJobsMax;
  if (!due || !small || trial.live_forecast || !trial.candidate) return;
  if (trial.state->queue().empty()) return;
  trial.forecast_at = now;
  StateParts live = trial.state->parts(), shadow = live;
  for (const auto& [job, service] : trial.service) live.jobs.at(job).service_from = service.live;
  shadow.memo = trial.memo;
  trial.live_forecast = std::make_unique<Forecast>(std::move(live), now, decider(*trial.live),
                                                   rules_.placer, rules_.protects);
  trial.shadow_forecast = std::make_unique<Forecast>(
      std::move(shadow), now, decider(*trial.candidate), rules_.placer, rules_.protects);
}

void Shadow::go_on_forecasting() {
  Trial& trial = *trial_;
  if (trial.live_forecast->step() || trial.shadow_forecast->step()) return;
  const auto live = trial.live_forecast->outcome();
  const auto shadow = trial.shadow_forecast->outcome();
  trial.samples.take(live, shadow);
  tell([&](ShadowReport& report) { report.forecast = trial.samples.means(); });
  trial.live_forecast.reset();
  trial.shadow_forecast.reset();
}

}  // namespace paceline
