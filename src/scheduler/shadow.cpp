#include "scheduler/shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "scheduler/decide.hpp"

namespace paceline {
namespace {

// What a plan does, whatever its words and the order in which it says them.
using SeatKey = std::pair<NodeId, std::vector<std::uint32_t>>;
using Effect = std::tuple<JobId, ChangeKind, std::vector<SeatKey>>;

std::vector<Effect> effects_of(const std::vector<Change>& changes) {
  std::vector<Effect> effects;
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

}  // namespace

// What the working side holds of a trial.
struct Shadow::Trial {
  std::uint64_t number = 0;
  std::string name;
  Parameters parameters;
  State state;
  std::map<std::string, std::string> memo;
  std::unique_ptr<Policy> candidate;  // nullptr: it can't be made any more
  std::string missing;                // why not
  std::optional<Lineup> live;
  std::optional<Time> forecast_at;                           // when the last one began
  std::unique_ptr<Forecast> live_forecast, shadow_forecast;  // under way, or neither
  ForecastSamples samples;
};

Shadow::Shadow(Rules rules) : rules_(std::move(rules)) {}
Shadow::~Shadow() = default;

// ---- the live side ----

void Shadow::begin(std::string policy, Parameters parameters, const StateParts& parts, Time now) {
  ShadowReport report;
  report.policy = std::move(policy);
  report.parameters = std::move(parameters);
  report.since = now;
  replace(std::move(report), std::make_unique<Fork>(Fork{parts, now}));
}

void Shadow::end() { replace(std::nullopt, nullptr); }

void Shadow::replace(std::optional<ShadowReport> report, std::unique_ptr<Fork> fork) {
  pending_.clear();
  seen_ = report;
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    rounds_queued_ = 0;
    ++trials_;
    report_ = std::move(report);
    if (fork) queue_.emplace_back(std::move(fork));
  }
  wake();
}

void Shadow::round(Time now, std::span<const Change> live) {
  if (!seen_) return;
  pending_.emplace_back(Round{now, {live.begin(), live.end()}});
  hand_over(nullptr);
}

void Shadow::take(std::span<const Entry> entries, const State& live) {
  if (!seen_) return;
  pending_.insert(pending_.end(), entries.begin(), entries.end());
  hand_over(&live);
}

// With the live state at hand it may start again.
void Shadow::hand_over(const State* live) {
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock && pending_.size() < kQueueMax) return wake();
    if (!lock) lock.lock();
    for (Item& item : pending_) {
      rounds_queued_ += static_cast<std::size_t>(std::holds_alternative<Round>(item));
      queue_.push_back(std::move(item));
    }
    pending_.clear();
    if (live && queue_.size() > kQueueMax) {
      report_->skipped += std::exchange(rounds_queued_, 0);
      queue_.clear();
      queue_.emplace_back(std::make_unique<Fork>(Fork{live->parts(), live->at()}));
    }
  }
  wake();
}

std::optional<ShadowReport> Shadow::report() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) seen_ = report_;
  return seen_;
}

void Shadow::on_work(std::function<void()> wake) { wake_ = std::move(wake); }

void Shadow::wake() const {
  if (wake_) wake_();
}

// ---- the working side ----

const State& Shadow::state() const {
  check(trial_ != nullptr, "a policy is tried");
  return trial_->state;
}

bool Shadow::work() {
  if (auto item = next_item()) {
    if (const auto* fork = std::get_if<std::unique_ptr<Fork>>(&*item)) handle(**fork);
    if (const auto* entry = std::get_if<Entry>(&*item)) handle(*entry);
    if (const auto* round = std::get_if<Round>(&*item)) handle(*round);
    return true;
  }
  if (!trial_ || !trial_->live_forecast) return false;
  go_on_forecasting();
  return true;
}

// Takes the next item, and a new trial's beginning or an old one's end to heart. A trial that ended
// is destroyed without the lock.
std::optional<Shadow::Item> Shadow::next_item() {
  std::unique_ptr<Trial> over;
  const std::lock_guard lock(mutex_);
  if (trial_ && (trial_->number != trials_ || !report_)) over = std::move(trial_);
  if (!report_ || queue_.empty()) return std::nullopt;
  if (!trial_) {
    trial_ = std::make_unique<Trial>();
    trial_->number = trials_;
    trial_->name = report_->policy;
    trial_->parameters = report_->parameters;
  }
  Item item = std::move(queue_.front());
  queue_.pop_front();
  if (std::holds_alternative<Round>(item)) --rounds_queued_;
  return item;
}

void Shadow::tell(const std::function<void(ShadowReport&)>& change) {
  const std::lock_guard lock(mutex_);
  if (report_ && trial_->number == trials_) change(*report_);
}

void Shadow::handle(Fork& fork) {
  trial_->live_forecast.reset();
  trial_->shadow_forecast.reset();
  trial_->state = State(std::move(fork.parts));
  make_policies();
  begin_forecast(fork.now);
}

void Shadow::handle(const Entry& entry) {
  apply(trial_->state, entry);
  const auto* event = std::get_if<Event>(&entry.body);
  if (!event) return;
  const bool switched = std::holds_alternative<PolicySet>(*event);
  if (!switched && !std::holds_alternative<PolicyLoaded>(*event)) return;
  make_policies();
  if (!switched) return;
  trial_->samples = {};
  tell([](ShadowReport& report) { report.forecast = {}; });
}

// Of the state as it is now; forecasts under the former ones are dropped.
void Shadow::make_policies() {
  Trial& trial = *trial_;
  trial.live_forecast.reset();
  trial.shadow_forecast.reset();
  trial.live.emplace(trial.state, rules_.registry, rules_.last);
  auto made = make_policy(trial.state, rules_.registry, trial.name, trial.parameters);
  trial.missing = made ? "" : made.error().message;
  trial.candidate = made ? std::move(*made) : nullptr;
}

void Shadow::handle(const Round& round) {
  bool behind = false;
  tell([&](ShadowReport& report) {
    behind = rounds_queued_ >= kBehindMax;
    if (behind) ++report.skipped;
  });
  if (behind) return;
  swap_memo(trial_->state, trial_->memo);
  const auto plan = decide({trial_->state, round.now});
  swap_memo(trial_->state, trial_->memo);
  if (!plan) return fail_round(plan.error().message);
  compare(round, *plan);
  begin_forecast(round.now);
}

Result<Plan> Shadow::decide(const Snapshot& snapshot) const {
  if (!trial_->candidate) return fail(ErrorCode::not_found, trial_->missing);
  Draft draft(snapshot, rules_.placer, rules_.judge);
  honour_ranges(snapshot, draft);
  if (auto ok = trial_->candidate->try_decide(snapshot, draft); !ok) return fail(ok.error());
  Plan plan = draft.plan();
  const auto wrong = violations(snapshot, plan);
  if (wrong.empty()) return plan;
  return fail(ErrorCode::invalid, fmt::format("Its plan is refused: {}", wrong.front()));
}

void Shadow::compare(const Round& round, const Plan& plan) {
  remember(trial_->memo, plan);
  promote(trial_->state, plan.promoted);
  const bool differs = effects_of(round.live) != effects_of(plan.changes);
  tell([&](ShadowReport& report) {
    ++report.rounds;
    if (!plan.memo.empty()) report.memo = trial_->memo;
    if (!differs) return;
    ++report.differed;
    report.differences.push_back(
        {plan.round, round.now, first_of(round.live), first_of(plan.changes)});
    if (report.differences.size() > kShadowRoundsMax) report.differences.pop_front();
  });
}

void Shadow::fail_round(const std::string& why) {
  tell([&](ShadowReport& report) {
    ++report.failed;
    report.failure = why;
  });
}

// Both from the same copy of the state, if it is time for one and the last is done.
void Shadow::begin_forecast(Time now) {
  Trial& trial = *trial_;
  const bool due = !trial.forecast_at || now - *trial.forecast_at >= rules_.forecast_every;
  const bool small = trial.state.jobs().size() <= kForecastJobsMax;
  if (!due || !small || trial.live_forecast || !trial.candidate) return;
  if (trial.state.queue().empty()) return;
  trial.forecast_at = now;
  StateParts parts = trial.state.parts();
  trial.live_forecast =
      std::make_unique<Forecast>(parts, now, *trial.live, rules_.placer, rules_.judge);
  parts.memo = trial.memo;
  trial.shadow_forecast = std::make_unique<Forecast>(std::move(parts), now, *trial.candidate,
                                                     rules_.placer, rules_.judge);
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
