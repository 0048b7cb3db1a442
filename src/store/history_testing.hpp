// For tests and benches of stores: a random history of a small cluster, valid entry by entry, and
// what a submission brings along.
//
//   History history(seed);
//   const Entry entry = history.next();   // folded into history.state() already
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "model/launch.hpp"
#include "model/state.hpp"
#include "plan/apply.hpp"
#include "plan/plan.hpp"
#include "store/store.hpp"

namespace paceline {

// A command in a virtual environment, with 4 KB of environment that only depends on `user`.
inline LaunchSpec some_launch(std::uint32_t user, std::uint32_t job) {
  LaunchSpec launch;
  launch.command = {"python3", "train.py", "--seed", std::to_string(job), ""};
  launch.directory = fmt::format("/home/user{}/digits", user);
  launch.setup = "module load cuda\n. venv/bin/activate";
  for (int i = 0; i < 40; ++i) {
    launch.environment[fmt::format("VARIABLE_{}", i)] =
        fmt::format("/opt/conda{}/{:=<75}", user, "envs/torch/bin:");
  }
  launch.shared_shm = job % 5 == 0;
  if (job % 4 == 0) launch.shipped = {std::string(64, 'a'), job, 1000};
  if (job % 4 == 1) launch.witnesses = {fmt::format("{} 1763636100000000000 .", job)};
  return launch;
}

inline JobSpec some_spec(std::uint32_t job) {
  JobSpec spec;
  spec.name = fmt::format("digits-{}", job);
  spec.user = "ann";
  spec.uid = 1000;
  spec.workers = {1, 1 + static_cast<std::int32_t>(job % 4), 1};
  spec.cpus = 1.5;
  spec.memory_bytes = std::uint64_t{4} << 30;
  spec.max_duration = std::chrono::hours{2};
  spec.expected_samples = 1'200'000;
  spec.expected_speeds = {{1, 1}, {2, 1.9}};
  spec.retries = 3;
  spec.checkpoint_glob = "checkpoints/*.pt";
  spec.target = Target{"accuracy", Direction::at_least, 0.95, 0.97};
  if (job > 1 && job % 7 == 0) spec.after = {JobId{job - 1}};
  return spec;
}

// The first entries of a journal: `count` jobs.
inline std::vector<Entry> submissions(std::uint32_t count) {
  std::vector<Entry> entries;
  for (std::uint32_t job = 1; job <= count; ++job)
    entries.push_back({job, time_from_us(job), JobSubmitted{JobId{job}, {}}});
  return entries;
}

inline Entry cancelling(const State& state, JobId job) {
  return {state.seq() + 1, state.parts().at, JobRequested{job, Request::cancel, {}}};
}

// Cancels `jobs`, which wait, and makes a checkpoint.
inline Result<void> end_jobs(Store& store, State& state, const std::vector<JobId>& jobs) {
  Batch batch;
  for (const JobId job : jobs) {
    batch.entries.push_back(cancelling(state, job));
    apply(state, batch.entries.back());
  }
  if (auto kept = store.append(batch); !kept) return kept;
  return store.checkpoint(state, jobs);
}

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {}

  [[nodiscard]] const State& state() const { return state_; }

  // The next entry, of any kind that may happen now.
  Entry next() {
    if (state_.nodes().empty()) return keep(node_up());
    if (state_.policy() == nullptr) return keep(PolicySet{"fifo", {}});
    if (auto plan = rng_.chance(0.4) ? start() : std::nullopt) return keep(std::move(*plan));
    if (auto event = rng_.chance(0.8) ? of_a_worker() : std::nullopt)
      return keep(std::move(*event));
    return keep(of_an_owner());
  }

  // Many jobs, without anything in between.
  Entry submit() { return keep(submission()); }

 private:
  Entry keep(std::variant<Event, Plan> body) {
    now_ += Duration{rng_.between(1, 3'000'000)};
    Entry entry{state_.seq() + 1, now_, std::move(body)};
    apply(state_, entry);
    if (!state_.misfit().empty()) throw std::logic_error(state_.misfit());
    return entry;
  }

  static Event node_up() {
    NodeSpec node{"box", "10.0.0.1", "", 16, std::uint64_t{64} << 30, {}};
    for (int i = 0; i < 8; ++i)
      node.slots.push_back(
          {SlotKind::gpu, "H200", fmt::format("GPU-{}", i), std::uint64_t{139} << 30, true, ""});
    return NodeUp{NodeId{0}, node};
  }

  Event submission() {
    const auto job = state_.next_job_id();
    return JobSubmitted{job, some_spec(job.value)};
  }

  // A gang of one worker for the first job that waits, if it may start.
  std::optional<Plan> start() {
    if (state_.waiting().empty() || state_.free_slots().free_on(NodeId{0}) == 0) return {};
    const auto& job = state_.job(state_.waiting().begin()->job);
    if (job.eligible_at > now_) return {};
    Change change;
    change.job = job.id;
    change.generation = Generation{job.last_generation.value + 1};
    change.placement = {{NodeId{0}, state_.free_slots().first_free(NodeId{0}, 1)}};
    change.reason = {ReasonCode::starts, {1}, ""};
    return Plan{state_.round() + 1,
                "fifo",
                "0.1.0",
                {change},
                {{"turn", std::to_string(job.id.value)}},
                {},
                {job.id}};
  }

  std::optional<Event> of_a_worker() {
    if (state_.active().empty()) return {};
    auto it = state_.active().begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(state_.active().size())));
    const auto& job = state_.job(it->job);
    const ProcessKey worker{job.id, job.current->generation, 0};
    if (job.current->workers[0].state == WorkerState::assigned)
      return WorkerStarted{worker, rng_.between(100, 90'000)};
    if (rng_.chance(0.6)) return progress(worker);
    if (rng_.chance(0.4))
      return CheckpointAcknowledged{job.id, worker.born, {"/home/ann/a.pt", 100, {}, now_}};
    if (rng_.chance(0.1))
      return ModelPublished{job.id, worker.born, {"box", "/home/ann/m.pt", "", 7, 100, {}, now_}};
    if (rng_.chance(0.1)) return TimeLimitReached{job.id};
    if (rng_.chance(0.1))
      return JobWarned{job.id, worker.born, Warning::no_rendezvous, rng_.chance(0.7)};
    const auto code = static_cast<std::int32_t>(rng_.below(3) == 0 ? 1 : 0);
    return WorkerEnded{worker, {Cause::exited, code, 0, "", now_}};
  }

  Event progress(const ProcessKey& worker) {
    Progress report;
    report.step = rng_.below(10'000);
    report.samples = *report.step * 64;
    report.metrics = {{"accuracy", rng_.uniform()}, {"loss", 1 / (0.1 + rng_.uniform())}};
    report.reported_at = now_;
    return Progressed{worker.job, worker.born, report};
  }

  Event of_an_owner() {
    if (state_.jobs().empty() || rng_.chance(0.7)) return submission();
    if (rng_.chance(0.1)) return PolicySet{"round-robin", {{"interval", "30"}}};
    if (rng_.chance(0.1)) return TrialBegan{"las", {{"queues", "3"}}};
    if (rng_.chance(0.1)) return TrialEnded{"las"};
    if (rng_.chance(0.1))
      return ClockSet{std::chrono::seconds{rng_.between(-9'000, 9'000)}, Boot{"another", now_}};
    const JobId job{static_cast<std::uint32_t>(
        rng_.between(1, static_cast<std::int64_t>(state_.jobs().size())))};
    if (rng_.chance(0.3)) return RangeSet{job, {1, 4, 2}};
    return JobRequested{job, static_cast<Request>(rng_.below(3)), account(1000)};
  }

  Rng rng_;
  State state_;
  Time now_ = time_from_us(1'763'636'100'000'000);
};

}  // namespace paceline
