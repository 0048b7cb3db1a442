#include "agent/agent.hpp"

#include <algorithm>
#include <string_view>

#include "base/check.hpp"
#include "base/utf8.hpp"

namespace paceline::agent {
namespace {

template <class Kind>
bool is(const AgentMessage& message) {
  return std::holds_alternative<Kind>(message);
}

}  // namespace

Agent::Agent(Host& host) : host_(host) {
  host_.on_observation([this](Observation observation) { add(std::move(observation)); });
}

void Agent::start() {
  check(workers_.empty(), "an agent is started once");
  for (Claim& claim : host_.claims()) {
    workers_[claim.key] = {claim.pid,
                           std::move(claim.slots),
                           claim.noticed,
                           std::move(claim.gone),
                           {},
                           {},
                           0,
                           claim.ready,
                           claim.stands};
  }
}

void Agent::devices_changed() { add(DevicesChanged{}); }
void Agent::connected(Session session) { add(Connected{session}); }
void Agent::disconnected() { add(Disconnected{}); }
void Agent::receive(ServerFrame frame) { add(std::move(frame)); }

void Agent::add(Input input) {
  inputs_.push_back(std::move(input));
  if (inputs_.size() == 1 && wake_) wake_();
}

void Agent::step(Time now) {
  now_ = std::max(now_, now);
  while (!inputs_.empty()) {
    const Input input = std::move(inputs_.front());
    inputs_.pop_front();
    std::visit([this](const auto& each) { on(each); }, input);
  }
  fire_timers();
  if (renew_at_ && *renew_at_ <= now_) renew_leases();
  if (refusal_ && refusal_->until <= now_) {
    refusal_.reset();
    tell_node();
  }
  send_frames();
}

std::optional<Time> Agent::next_due() const {
  std::optional<Time> due;
  if (!timers_.empty()) due = timers_.begin()->first;
  if (const auto resend = outbox_.next_due(); session_ && resend)
    due = std::min(due.value_or(*resend), *resend);
  if (renew_at_) due = std::min(due.value_or(*renew_at_), *renew_at_);
  if (refusal_) due = std::min(due.value_or(refusal_->until), refusal_->until);
  return due;
}

// ---- the connection ----

void Agent::on(Connected connected) {
  session_ = connected.session;
  renew_at_.reset();
  fences_.clear();
  inbox_.restart();
  outbox_.restart();
  greet();
}

void Agent::on(Disconnected) {
  session_.reset();
  renew_at_.reset();
}

// From when the server has taken Hello: of a session whose Hello it never took it believes nothing. A
// transport ends a session soon after it hears nothing more.
void Agent::renew_leases() {
  if (!node_.lease) return;
  host_.perform(RenewLeases{*node_.lease});
  renew_at_ = now_ + *node_.lease / kRenewalsOfLease;
}

// What Hello says is not told again after it; what only a report says is.
void Agent::greet() {
  outbox_.drop_unsent([](const AgentMessage& m) {
    return is<Hello>(m) || is<NodeChanged>(m) || is<WorkerRuns>(m) || is<WorkerPlaced>(m);
  });
  tell_ends_again();
  outbox_.push_front(hello());
}

Hello Agent::hello() {
  node_ = describe();
  Hello hello{node_, host_.boot_id(), {}};
  for (const auto& [key, worker] : workers_) {
    hello.claims.push_back(
        {key, worker.pid, {}, worker.noticed, worker.slots, worker.ready, worker.stands});
  }
  return hello;
}

void Agent::tell_ends_again() {
  std::set<ProcessKey> kept;
  for (const auto& message : outbox_.kept()) {
    if (const auto* gone = std::get_if<WorkerGone>(&message)) kept.insert(gone->key);
  }
  for (const auto& [key, worker] : workers_) {
    if (worker.end && !kept.contains(key)) outbox_.push(*worker.end);
  }
}

void Agent::on(DevicesChanged) { tell_node(); }

NodeSpec Agent::describe() {
  NodeSpec node = host_.describe();
  if (!node.refusal) node.refusal = refusal_;
  return node;
}

void Agent::tell_node() {
  if (auto node = describe(); node != node_) outbox_.push(NodeChanged{node_ = std::move(node)});
}

// Told before the end that is its reason, so that the next plan knows.
void Agent::hold_back(const std::string& why) {
  if (refusal_) return;
  ++refusals_;
  refusal_pause_ = std::clamp(2 * refusal_pause_, kRefusalFirst, kRefusalMax);
  std::string_view said = std::string_view(why).substr(0, kRefusalWhyMax);
  if (said.size() < why.size()) said.remove_suffix(utf8_unfinished(said));
  refusal_ = Refusal{std::string(said), now_ + refusal_pause_};
  tell_node();
}

void Agent::on(const ServerFrame& frame) {
  if (frame.session != session_) return;
  outbox_.received(now_, frame.received);
  if (frame.received > 0 && !renew_at_) renew_leases();
  forget_stored(frame.durable);
  if (frame.message) inbox_.put(frame.number, *frame.message);
  while (const auto message = inbox_.next()) {
    std::visit([this](const auto& each) { on(each); }, *message);
  }
}

void Agent::send_frames() {
  if (!session_ || !send_) return;
  outbox_.flush(now_, [this](std::uint64_t number, const AgentMessage& message) {
    send_({*session_, number, inbox_.taken(), 0, message, now_});
    inbox_.answered();
  });
  if (inbox_.owes_answer()) send_({*session_, 0, inbox_.taken(), 0, {}, now_});
  inbox_.answered();
}

// ---- what the host observed ----

void Agent::on(const Observation& observation) {
  std::visit([this](const auto& each) { on(each); }, observation);
}

void Agent::on(const WorkerRuns& runs) {
  Worker* worker = find_alive(runs.key);
  if (!worker) return;
  worker->pid = runs.pid;
  if (!refusal_ && worker->refusals == refusals_) refusal_pause_ = {};
  outbox_.push(runs);
}

void Agent::on(const WorkerGone& gone) {
  Worker* worker = find_alive(gone.key);
  if (!worker) return;
  worker->end = gone;
  set_timer(gone.key, *worker, {});
  if (gone.cause == Cause::refused && !gone.alone) hold_back(gone.message);
  outbox_.push(gone);
}

void Agent::on(const WorkerReport& report) { outbox_.push(report); }
void Agent::on(const CheckpointSeen& checkpoint) { outbox_.push(checkpoint); }
void Agent::on(const ModelSeen& model) { outbox_.push(model); }
void Agent::on(const WorkerWarning& warning) { outbox_.push(warning); }

void Agent::on(const WorkerPlaced& placed) {
  Worker* worker = find_alive(placed.key);
  if (!worker) return;
  worker->ready = placed.ready;
  worker->stands = placed.stands;
  outbox_.push(placed);
}

void Agent::forget_stored(std::uint64_t durable) {
  outbox_.forget(durable, [this](const AgentMessage& message) {
    const auto stored = [this](const auto& each) {
      if constexpr (requires { each.report; }) host_.stored(each.key, each.report);
    };
    std::visit(stored, message);
  });
}

}  // namespace paceline::agent
