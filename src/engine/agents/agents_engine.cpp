#include "engine/agents/agents_engine.hpp"

#include <algorithm>

namespace paceline {

AgentsEngine::AgentsEngine(Clock& clock, LaunchSource launches, Options options)
    : clock_(clock), launches_(std::move(launches)), options_(options) {}

AgentsEngine::~AgentsEngine() = default;

Observed AgentsEngine::observe() {
  for (const NodeId id : fresh_) nodes_[id.value].observed = nodes_[id.value].inbox.taken();
  unconfirmed_.insert(fresh_.begin(), fresh_.end());
  fresh_.clear();
  handed_over_ += news_.events.size() + news_.points.size();
  return std::exchange(news_, {});
}

void AgentsEngine::committed() {
  handed_over_ = 0;
  for (const NodeId id : std::exchange(unconfirmed_, {})) {
    NodeView& node = nodes_[id.value];
    if (!fresh_.contains(id) && std::exchange(node.unsaid, false)) {
      settle_held(node);
      flush(node);
    }
    if (node.durable == node.observed) continue;
    node.durable = node.observed;
    if (node.session) send_({*node.session, 0, node.inbox.taken(), node.durable, {}});
  }
  kit_.reset();
}

void AgentsEngine::act(const State& state, std::span<const JobId> jobs) {
  const bool first = !std::exchange(recovered_, true);
  if (first) learn_nodes(state);
  acting_ = true;
  for (const JobId job : jobs) take_view(view_gang(state, job), job, first);
  acting_ = false;
  want_checkpoints(state, jobs, first);
  kit_.reset();
  for (const auto& frame : std::exchange(early_, {})) serve(frame);
}

std::optional<Time> AgentsEngine::next_due() const {
  if (!unheard_.empty()) return clock_.now();
  if (timers_.empty()) return {};
  return timers_.begin()->first;
}

std::size_t AgentsEngine::connected_nodes() const {
  return static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [](const NodeView& node) { return node.session.has_value(); }));
}

void AgentsEngine::tell(Event event) {
  const bool silent = news_.empty();
  news_.events.push_back(std::move(event));
  if (silent && wake_) wake_();
}

void AgentsEngine::tell_started(const ProcessKey& key, SeatView& seat, std::int64_t pid) {
  if (seat.start_told || seat.state != WorkerState::assigned) return;
  seat.start_told = true;
  tell(WorkerStarted{key, pid});
}

void AgentsEngine::tell_ended(const ProcessKey& key, SeatView& seat, Ending ending) {
  if (seat.end_told) return;
  seat.end_told = true;
  const Duration unseen = clock_.now() - ending.at;
  tell(WorkerEnded{key, std::move(ending), unseen < kSeenWithin ? Duration::zero() : unseen});
}

}  // namespace paceline
