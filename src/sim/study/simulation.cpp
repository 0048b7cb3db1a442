#include "sim/study/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "scheduler/controller.hpp"
#include "sim/null_store.hpp"

namespace paceline::sim {
namespace {

constexpr int kStepsPerInstant = 10'000;  // a policy that changes its mind for ever is cut off
constexpr std::size_t kWatchEvery = 256;  // jobs
constexpr std::int32_t kReportsPerJob = 20;
constexpr std::string_view kNobody = "somebody";

Controller::Options options_of(const Setup& setup) {
  Controller::Options options;
  options.build = "simulated";
  if (setup.policy.script.empty()) options.policy = setup.policy.name;
  options.placement = setup.placement;
  options.coalesce = Duration::zero();
  options.checkpoint_every = std::chrono::hours{24 * 366 * 1'000};
  options.protects = setup.protects;
  if (setup.reclaim_after > Duration::zero()) options.rules.reclaim_after = setup.reclaim_after;
  return options;
}

// Where nobody is stopped or resized and nothing fails, and where nobody weighs what a stop costs,
// saving changes nothing.
// What fails goes on from its last save, and jobs with specs of their own may be resized from the
// first one on: these count at their own instants.
bool saves_count(const Workload& workload, const Setup& setup) {
  const auto& jobs = workload.trace->jobs;
  return setup.failures_per_slot_hour > 0 ||
         std::any_of(jobs.begin(), jobs.end(), [](const TraceJob& j) { return j.spec != nullptr; });
}

// Are there jobs that may be resized from their first save on, and not before?
bool resized_once_saved(const Trace& trace) {
  return std::any_of(trace.jobs.begin(), trace.jobs.end(), [](const TraceJob& job) {
    return job.spec && job.spec->elastic == Elastic::automatic;
  });
}

Hazards hazards_of(const Workload& workload, const Setup& setup, const PolicyRegistry& registry) {
  Hazards hazards{setup.failures_per_slot_hour, {}, saves_count(workload, setup)};
  const auto info = registry.find(setup.policy.name);
  const bool disturbs = !info || (*info)->elastic || (*info)->preempts;
  if ((disturbs && (setup.protects || resized_once_saved(*workload.trace))) ||
      setup.failures_per_slot_hour > 0)
    hazards.save_every = setup.save_every;
  return hazards;
}

// What a job may expect of the sizes that it may have: packed, and over its whole training.
Points<std::int32_t> speeds_of(const Training& training, const JobSpec& spec) {
  Points<std::int32_t> speeds;
  const std::int32_t sizes = spec.workers.max - spec.workers.min;
  const std::int32_t step = sizes / static_cast<std::int32_t>(kExpectedSpeedsMax) + 1;
  for (std::int32_t n = spec.workers.min; n <= spec.workers.max; n += step)
    speeds.emplace_back(n, training.speedup().of(n * spec.slots_per_worker));
  return speeds;
}

// "3d 04:05:06"
std::string clock_text(Duration span) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(span).count();
  const auto days = seconds / 86'400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}d ", days) : "",
                     seconds / 3'600 % 24, seconds / 60 % 60, seconds % 60);
}

class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Time start) : now_(start) {}
  Time now() override { return now_; }
  void go_to(Time time) { now_ = std::max(now_, time); }

 private:
  Time now_;
};

class Simulation {
 public:
  Simulation(const Workload& workload, const Setup& setup, const PolicyRegistry& registry,
             const Watch& watch)
      : workload_(workload),
        setup_(setup),
        watch_(watch),
        start_(workload.arrivals.empty() ? Time{} : workload.arrivals.front().at),
        clock_(start_),
        engine_(
            clock_, [this](JobId id) { return truth_of(id); }, setup.costs,
            hazards_of(workload, setup, registry), setup.seed),
        controller_(store_, engine_, clock_, registry, options_of(setup)) {
    launch_.command = {"simulated"};
    launch_.directory = "/";
    if (setup.keep_occupancy) occupancy_.emplace(view_of(workload, setup.nodes), clock_.now());
  }

  Result<Outcome> run() {
    if (auto ok = begin(); !ok) return fail(ok.error());
    for (auto next = next_instant(); next; next = next_instant()) {
      if (auto ok = pass(*next); !ok) return fail(ok.error());
    }
    return finish();
  }

 private:
  Result<void> begin() {
    outcome_.jobs.reserve(workload_.arrivals.size());
    commits_ =
        controller_.on_commit([this](auto entries, auto touched) { take(entries, touched); });
    if (auto ok = controller_.recover(); !ok) return ok;
    join_nodes();
    if (auto ok = choose_policy(); !ok) return ok;
    return settle_instant();
  }

  Result<void> choose_policy() {
    const auto& [name, parameters, script] = setup_.policy;
    Result<void> answer;
    const auto take_answer = [&](const Result<void>& done) {
      if (!done) answer = fail(done.error());
    };
    if (!script.empty()) {
      controller_.desk().load(name, script, {}, take_answer);
      if (auto ok = controller_.step(); !ok || !answer) return ok ? answer : ok;
    }
    if (!script.empty() || !parameters.empty()) {
      controller_.desk().set({name, parameters}, {}, take_answer);
      if (auto ok = controller_.step(); !ok) return ok;
    }
    return answer;
  }

  void join_nodes() {
    for (std::size_t i = 0; i < setup_.nodes.size(); ++i) {
      const NodeSpec& node = setup_.nodes[i];
      engine_.join({NodeId{static_cast<std::uint32_t>(i)}, node});
      outcome_.slots += static_cast<std::int64_t>(node.slots.size());
    }
  }

  [[nodiscard]] std::optional<Time> next_instant() const {
    if (submitted_ == workload_.arrivals.size() && over_ == jobs_.size()) return std::nullopt;
    std::optional<Time> next = engine_.next_due();
    const auto sooner = [&](std::optional<Time> at) {
      if (at && (!next || *at < *next)) next = at;
    };
    if (submitted_ < workload_.arrivals.size()) sooner(workload_.arrivals[submitted_].at);
    sooner(controller_.next_due());
    return next;
  }

  Result<void> pass(Time instant) {
    if (occupancy_) occupancy_->stayed(controller_.state(), instant);
    clock_.go_to(instant);
    engine_.advance();
    while (submitted_ < workload_.arrivals.size() &&
           workload_.arrivals[submitted_].at <= clock_.now())
      submit(submitted_++);
    return settle_instant();
  }

  // The round, and what follows from its plan at the same instant.
  Result<void> settle_instant() {
    for (int i = 0; i < kStepsPerInstant; ++i) {
      if (auto ok = controller_.step(); !ok) return ok;
      if (given_up_) return fail(ErrorCode::unavailable, "The simulation was given up.");
      if (outcome_.failures.rounds > 0 && setup_.on_failure == OnFailure::stop)
        return fail(script_failed());
      const auto due = controller_.next_due();
      if (!engine_.has_news() && !(due && *due <= clock_.now())) return {};
    }
    return fail(ErrorCode::internal,
                fmt::format("The policy {} changes its mind for ever at one instant.",
                            setup_.policy.text()));
  }

  [[nodiscard]] Error script_failed() const {
    const auto& [rounds, why, first, left] = outcome_.failures;
    return {ErrorCode::invalid,
            fmt::format("{} That was {} after the first submission.", why, clock_text(first)),
            "Correct the script, or simulate what a server would do then: --on-failure fallback.",
            Retry::useless};
  }

  void submit(std::size_t index) {
    Submission submission{spec_of(index), launch_, {}};
    controller_.submit(std::move(submission), [this, index](const Result<JobId>& id) {
      if (!id) return static_cast<void>(++outcome_.refused);
      check(id->value == jobs_.size() + 1, "jobs are numbered as they come");
      jobs_.push_back(static_cast<std::uint32_t>(index));
      newest_[workload_.trace->jobs[workload_.arrivals[index].job].line] = *id;
    });
  }

  [[nodiscard]] JobSpec spec_of(std::size_t index) const {
    const Arrival& arrival = workload_.arrivals[index];
    const TraceJob& source = workload_.trace->jobs[arrival.job];
    JobSpec spec = source.spec ? own_spec(source, arrival.at, newest_) : plain_spec(source);
    const bool by_application = setup_.know == Know::estimate && !source.application.empty();
    if (!source.spec) spec.name = by_application ? source.application : source.name;
    spec.user = source.user.empty() ? std::string(kNobody) : source.user;
    // Lengths are learned by account and name (kind_of()): what nobody may know has its own.
    if (setup_.know != Know::oracle && !by_application)
      spec.uid = static_cast<std::uint32_t>(index + 1);
    spec.workers = arrival.range;
    if (setup_.know == Know::oracle) spec.expected_duration = arrival.length;
    if (setup_.know == Know::none) {
      spec.expected_duration.reset();
      spec.expected_speeds.clear();
    }
    const Training* training = training_of(arrival);
    if (setup_.know == Know::oracle && training != nullptr)
      spec.expected_speeds = speeds_of(*training, spec);
    if (setup_.learning) {
      const double quality = setup_.learning->at(arrival.reach);
      spec.target = Target{std::string(kQuality), Direction::at_least, quality, quality};
    }
    return spec;
  }

  [[nodiscard]] const Training* training_of(const Arrival& arrival) const {
    return setup_.trainings ? setup_.trainings->of(arrival.job) : nullptr;
  }

  [[nodiscard]] const Arrival& arrival_of(JobId id) const {
    return workload_.arrivals[jobs_[id.value - 1]];
  }

  [[nodiscard]] Truth truth_of(JobId id) const {
    const Arrival& arrival = arrival_of(id);
    const LearningCurve* learning = setup_.learning ? &*setup_.learning : nullptr;
    const bool tells_total = setup_.know == Know::estimate;
    const bool reports = tells_total || learning != nullptr;
    return {arrival.length,     arrival.range.want, &setup_.speedup, reports ? kReportsPerJob : 0,
            tells_total,        arrival.reach,      learning,        training_of(arrival),
            devices_of(arrival)};
  }

  [[nodiscard]] const SpeedByModel* devices_of(const Arrival& arrival) const {
    if (!setup_.devices) return nullptr;
    const TraceJob& source = workload_.trace->jobs[arrival.job];
    return setup_.devices->of(source.application, source.slots);
  }

  // ---- what became of it ----
  void take(std::span<const Entry> entries, std::span<const JobId> touched) {
    for (const Entry& entry : entries) {
      if (const auto* plan = std::get_if<Plan>(&entry.body)) add_to_digest(entry.at, *plan);
      if (const auto* event = std::get_if<Event>(&entry.body)) take_failure(entry.at, *event);
    }
    for (const JobId id : touched) {
      const Job& job = controller_.state().job(id);
      if (is_over(job.state) && !counted(id)) count();
    }
  }

  void take_failure(Time at, const Event& event) {
    ScriptFailures& failures = outcome_.failures;
    if (const auto* failed = std::get_if<PolicyFailed>(&event)) {
      if (failures.rounds == 0) {
        failures.why = failed->why;
        failures.first = at - start_;
      }
      ++failures.rounds;
    } else if (std::holds_alternative<PolicySet>(event) && failures.rounds > 0) {
      failures.left = at - start_;
    }
  }

  void add_to_digest(Time at, const Plan& plan) {
    digest_.add(static_cast<std::uint64_t>(to_us(at)));
    for (const Change& change : plan.changes) {
      digest_.add(static_cast<std::uint64_t>(change.kind)).add(std::uint64_t{change.job.value});
      for (const Seat& seat : change.placement) {
        digest_.add(std::uint64_t{seat.node.value});
        for (const std::uint32_t slot : seat.slots) digest_.add(std::uint64_t{slot});
      }
    }
  }

  bool counted(JobId id) {
    if (id.value > is_counted_.size()) is_counted_.resize(id.value);
    const bool before = is_counted_[id.value - 1];
    is_counted_[id.value - 1] = true;
    return before;
  }

  void count() {
    ++over_;
    if (watch_ && over_ % kWatchEvery == 0 && !watch_(over_)) given_up_ = true;
  }

  [[nodiscard]] JobOutcome outcome_of(const Job& job) const {
    const Arrival& arrival = arrival_of(job.id);
    JobOutcome outcome;
    outcome.job = arrival.job;
    outcome.slots = job.slots(arrival.range.want);
    outcome.most = job.slots(arrival.range.max);
    outcome.slots_per_worker = job.spec->slots_per_worker;
    outcome.length = arrival.length;
    outcome.submitted = job.submitted_at;
    outcome.started = job.started_at;
    outcome.ended = job.ended_at;
    outcome.waited = job.waited;
    outcome.slot_seconds = job.slot_seconds;
    outcome.resizes = job.resizes;
    outcome.preemptions = job.preemptions;
    outcome.completed = job.state == JobState::completed;
    outcome.reached = job.target.reached_at;
    if (const Training* training = training_of(arrival)) outcome.speedup = &training->speedup();
    return outcome;
  }

  Outcome finish() {
    const State& state = controller_.state();
    for (const Job& job : state.jobs()) {
      outcome_.jobs.push_back(outcome_of(job));
      outcome_.leased += job.slot_seconds;
      outcome_.unfinished += static_cast<std::size_t>(!is_over(job.state));
    }
    outcome_.lost = engine_.losses();
    outcome_.events = state.seq();
    outcome_.digest = digest_.value();
    if (occupancy_)
      outcome_.occupancy = occupancy_->take([this](JobId id) { return arrival_of(id).job; });
    return std::move(outcome_);
  }

  const Workload& workload_;
  const Setup& setup_;
  const Watch& watch_;
  const Time start_;
  NullStore store_;
  VirtualClock clock_;
  StudyEngine engine_;
  Controller controller_;
  std::shared_ptr<void> commits_;  // are listened to
  LaunchSpec launch_;
  std::size_t submitted_ = 0;        // arrivals so far
  std::vector<std::uint32_t> jobs_;  // of job n at n-1: its arrival
  std::vector<bool> is_counted_;     // the same: it is over
  NewestOfLine newest_;
  std::size_t over_ = 0;
  bool given_up_ = false;
  Digest digest_;
  std::optional<OccupancyRecorder> occupancy_;
  Outcome outcome_;
};

}  // namespace

std::string_view to_string(Know know) {
  switch (know) {
    case Know::oracle:
      return "oracle";
    case Know::estimate:
      return "estimate";
    case Know::none:
      break;
  }
  return "none";
}

Result<Know> parse_know(std::string_view text) {
  for (const Know know : {Know::oracle, Know::estimate, Know::none})
    if (to_string(know) == text) return know;
  return fail(ErrorCode::invalid, fmt::format("'{}' is nothing a policy could know.", text),
              "Give oracle, estimate or none.");
}

std::string_view to_string(OnFailure on_failure) {
  return on_failure == OnFailure::stop ? "stop" : "fallback";
}

Result<OnFailure> parse_on_failure(std::string_view text) {
  for (const OnFailure one : {OnFailure::stop, OnFailure::fallback})
    if (to_string(one) == text) return one;
  return fail(ErrorCode::invalid, fmt::format("'{}' is nothing to do when a policy fails.", text),
              "Give stop or fallback.");
}

std::string PolicyChoice::text() const {
  std::string text;
  for (const auto& [key, value] : parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text.empty() ? name : fmt::format("{}({})", name, text);
}

std::string speedup_text(const Setup& setup) {
  if (!setup.trainings) return setup.speedup.text();
  const std::string known =
      fmt::format("as profiled, batch {}", to_string(setup.trainings->batch()));
  const std::size_t unknown = setup.trainings->unknown();
  if (unknown == 0) return known;
  return fmt::format("{}; {} job{} without a profile or a batch: {}", known, unknown,
                     unknown == 1 ? "" : "s", setup.speedup.text());
}

Result<Outcome> simulate(const Workload& workload, const Setup& setup,
                         const PolicyRegistry& registry, const Watch& watch) {
  return Simulation(workload, setup, registry, watch).run();
}

}  // namespace paceline::sim
