#include "scheduler/busy_cluster.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "plan/decide.hpp"

namespace paceline {
namespace {

constexpr Duration kSoFar = std::chrono::hours{1};  // since its first job was submitted
constexpr Duration kBetween = std::chrono::minutes{1};
constexpr std::uint32_t kSlotsPerNode = 4;
constexpr std::uint32_t kFirstUid = 1000;
constexpr std::int64_t kFirstPid = 4000;

JobSpec job_of(std::string_view user, WorkerRange workers) {
  JobSpec spec;
  spec.name = "train";
  spec.user = user;
  spec.uid = kFirstUid + static_cast<std::uint32_t>(user.front() - 'a');
  spec.workers = workers;
  return spec;
}

}  // namespace

BusyCluster::BusyCluster(const Placer& placer, std::string_view name, const Policy& policy,
                         Time now)
    : now_(std::max(now, Time{kSoFar}) - kSoFar) {
  add_node("made-up-1", "A100");
  add_node("made-up-2", "T4");
  tell(PolicySet{std::string(name), {}});
  const JobId saved = submit("ann", {1, 4, 2});
  const JobId silent = submit("ben", {1, 1, 1});
  const JobId paused = submit("cem", {2, 2, 2});
  start_jobs(placer, policy);
  now_ += kSoFar - 3 * kBetween;
  report(saved, 100);
  tell(CheckpointAcknowledged{
      saved, state_.job(saved).current->generation, {"/saved", {}, {}, now_}});
  tell(JobRequested{paused, Request::pause, account(state_.job(paused).spec->uid)});
  report(saved, 200);
  submit("ben", {8, 8, 8});
  submit("cem", {1, 8, 1});
  submit("ann", {1, 2, 1});
  tell(RangeSet{silent, {1, 2, 1}});
  now_ += kBetween;
}

void BusyCluster::add_node(std::string_view name, std::string_view model) {
  NodeSpec spec;
  spec.name = name;
  SlotSpec slot;
  slot.kind = SlotKind::gpu;
  slot.model = model;
  spec.slots.assign(kSlotsPerNode, slot);
  tell(NodeUp{NodeId{static_cast<std::uint32_t>(state_.nodes().size())}, std::move(spec)});
}

JobId BusyCluster::submit(std::string_view user, WorkerRange workers) {
  const JobId id = state_.next_job_id();
  JobSpec spec = job_of(user, workers);
  if (id.value % 2 == 0) {
    spec.expected_duration = std::chrono::hours{2};
    spec.deadline = WallTime{std::chrono::hours{12}};
    spec.priority += 10;
  }
  if (id.value % 3 != 0) spec.target = Target{"accuracy", Direction::at_least, 0.8, 0.9};
  tell(JobSubmitted{id, std::move(spec)});
  return id;
}

// The draft is over before its plan is folded: what it tried on the free slots is taken back.
Plan BusyCluster::plan_starts(const Placer& placer, const Policy& policy) const {
  Draft draft(snapshot(), placer, Protects::yes);
  auto plan = decide(draft, decider(policy));
  check(plan.has_value(), "a policy that is built in decides on any cluster");
  return std::move(*plan);
}

void BusyCluster::start_jobs(const Placer& placer, const Policy& policy) {
  const auto touched = apply(state_, {state_.seq() + 1, now_, plan_starts(placer, policy)});
  for (const JobId job : touched) begin_workers(job);
}

void BusyCluster::begin_workers(JobId job) {
  const auto& gang = state_.job(job).current;
  check(gang.has_value(), "every job of an empty cluster that is large enough starts");
  for (std::int32_t rank = 0; rank < gang->size(); ++rank)
    tell(WorkerStarted{gang->process(job, rank), kFirstPid + rank});
}

void BusyCluster::report(JobId job, std::uint64_t step) {
  now_ += kBetween;
  Progress progress;
  progress.step = step;
  progress.total_steps = 1000;
  progress.step_seconds = 0.6;
  progress.metrics["accuracy"] = static_cast<double>(step) / 1000;
  progress.reported_at = now_;
  tell(Progressed{job, state_.job(job).current->generation, std::move(progress)});
}

void BusyCluster::tell(Event event) { apply(state_, {state_.seq() + 1, now_, std::move(event)}); }

}  // namespace paceline
