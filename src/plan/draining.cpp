#include "plan/draining.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "plan/protection.hpp"

namespace paceline {
namespace {

// Until the jobs that come up, or are on their way out, can be told.
constexpr Duration kLookAgain = std::chrono::seconds{1};

bool stands_on(const Job& job, NodeId node) {
  const auto& workers = job.current->workers;
  return std::any_of(workers.begin(), workers.end(), [&](const Worker& worker) {
    return worker.state != WorkerState::ended && worker.seat.node == node;
  });
}

bool has_ended(const Snapshot& snapshot, const Node& node) {
  const auto ends = snapshot.state.drain_ends(node);
  return ends && *ends <= snapshot.now;
}

// "gpu1", "gpu1 (new kernel)"
std::string named(const Node& node) {
  const std::string& reason = node.drain->order.reason;
  return reason.empty() ? node.spec.name : fmt::format("{} ({})", node.spec.name, reason);
}

class Leave {
 public:
  Leave(Draft& draft, const Node& node)
      : snapshot_(draft.snapshot()),
        draft_(draft),
        node_(node),
        over_(has_ended(snapshot_, node)) {}

  void run() {
    const auto ends = snapshot_.state.drain_ends(node_);
    const auto jobs = jobs_on(snapshot_.state, node_);
    if (ends && !over_ && !jobs.empty()) draft_.revisit(*ends);
    for (const JobId id : jobs)
      if (!draft_.changed(id)) leave(snapshot_.state.job(id));
  }

 private:
  void leave(const Job& job) {
    if (job.state == JobState::running && stands_on(job, node_.id)) {
      if (job.resizable() && goes_on_elsewhere(job)) return;
      if (job.spec->elastic == Elastic::automatic && !job.checkpoint) draft_.await_save(job.id);
    }
    if (job.state == JobState::starting) draft_.await_start(job.id);
    if (over_) return stop(job);
    say(job);
  }

  // With as many workers as now, else with as many as find room.
  bool goes_on_elsewhere(const Job& job) {
    if (node_not_heard(snapshot_.state, job) != nullptr) return false;
    const Time from = may_leave_from(snapshot_, job, node_);
    if (from > snapshot_.now) {
      draft_.await_save(job.id);
      draft_.revisit(from);
      return false;
    }
    const std::int32_t now = job.current->size();
    const std::int32_t most = std::clamp(now, job.range.min, job.range.max);
    for (std::int32_t n = most; n >= job.range.min; n -= job.spec->mesh.step()) {
      auto seats = draft_.refit(job.id, n);
      if (!seats) continue;
      draft_.resize(job.id, std::move(*seats), {ReasonCode::leaves_node, {now, n}, named(node_)});
      return true;
    }
    return false;
  }

  void stop(const Job& job) {
    const bool may = job.current && !job.forming && !job.current->stop && stands_on(job, node_.id);
    if (!may) return draft_.revisit(snapshot_.now + kLookAgain);
    draft_.stop(job.id, {ReasonCode::leaves_node, {job.current->size(), 0}, named(node_)}, {});
  }

  // Why a job that runs is there still.
  void say(const Job& job) {
    if (job.state != JobState::running) return;
    const auto ends = snapshot_.state.drain_ends(node_);
    const auto left = ends ? std::chrono::ceil<std::chrono::seconds>(*ends - snapshot_.now)
                           : std::chrono::seconds{-1};
    draft_.explain_wait(job.id, {ReasonCode::stays_on_node, {left.count()}, named(node_)});
  }

  const Snapshot& snapshot_;
  Draft& draft_;
  const Node& node_;
  bool over_;
};

}  // namespace

bool starts_jobs(const Node& node) {
  for (std::uint32_t i = 0; i < node.spec.slots.size(); ++i)
    if (node.offers(i)) return true;
  return false;
}

bool outstays(const Snapshot& snapshot, const Job& job) {
  if (!job.current || snapshot.state.draining().empty()) return false;
  const auto& draining = snapshot.state.draining();
  return std::any_of(draining.begin(), draining.end(), [&](NodeId id) {
    return stands_on(job, id) && has_ended(snapshot, *snapshot.state.find_node(id));
  });
}

std::vector<JobId> jobs_on(const State& state, const Node& node) {
  std::set<QueueKey> found;
  const auto add = [&](const ProcessKey& worker) {
    found.insert(queue_key(state.job(worker.job)));
  };
  for (const Slot& slot : node.slots) {
    if (slot.lease) add(slot.lease->worker);
    if (slot.promise) add(*slot.promise);
    if (slot.lent) add(*slot.lent);
  }
  std::vector<JobId> jobs;
  for (const QueueKey& key : found) jobs.push_back(key.job);
  return jobs;
}

Time may_leave_from(const Snapshot& snapshot, const Job& job, const Node& node) {
  check(job.current.has_value() && node.drains(), "it has a gang there, and the node drains");
  if (job.resizes_in_place()) return snapshot.now;
  if (!job.checkpoint || job.unsaved(snapshot.now) <= kLeavesUnsaved) return snapshot.now;
  const Duration patience = snapshot.state.rules().reclaim_after.value_or(Duration::zero());
  const Time latest = *node.drain->begun_at + patience;
  return std::min(latest, snapshot.state.drain_ends(node).value_or(latest));
}

void leave_draining_nodes(Draft& draft) {
  const State& state = draft.snapshot().state;
  for (const NodeId id : state.draining()) {
    const Node& node = *state.find_node(id);
    if (!node.drain->order.keeps) Leave(draft, node).run();
  }
}

}  // namespace paceline
