// Sessions, nodes and what agents tell.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "engine/agents/agents_engine.hpp"
#include "wire/agent_bounds.hpp"

namespace paceline {
namespace {

constexpr std::size_t kEarlyMax = 65'536;
constexpr std::int32_t kSigkill = 9;
constexpr Duration kRefusalLongest = std::chrono::minutes{10};  // that is believed
constexpr Duration kRefusalAgain = std::chrono::seconds{1};     // ends that are one refusal's

Progress progress_of(const WorkerReport& report, Time at) {
  return {
      report.step,         report.total_steps,  report.samples,       report.position, report.epoch,
      report.total_epochs, report.step_seconds, report.learning_rate, report.metrics,  at,
      report.resume};
}

// Of one name.
bool is_another(const NodeSpec& known, const NodeSpec& machine) {
  return !known.machine.empty() && !machine.machine.empty() && known.machine != machine.machine;
}

// A signal that we sent is not a fault of the worker: the stop's cause stands for it.
Ending ending_of(const WorkerGone& gone, const GangView& gang, const SeatView& seat, Time at) {
  Ending ending{gone.cause, gone.exit_code, gone.signal, gone.message, at};
  const bool ours = gone.signal == kSigkill || gone.signal == gang.spec->notice.signal;
  if (seat.stop && gone.cause == Cause::signalled && ours) ending.cause = seat.stop->cause;
  // A machine ends a worker only at the limit that it was told.
  if (gone.cause == Cause::timed_out && !gang.spec->max_duration) ending.cause = Cause::node_lost;
  return ending;
}

}  // namespace

// ---- sessions ----

void AgentsEngine::connected(Session session) { sessions_.try_emplace(session); }

void AgentsEngine::disconnected(Session session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto id = found->second;
  sessions_.erase(found);
  std::erase_if(early_, [&](const AgentFrame& frame) { return frame.session == session; });
  if (id) leave(nodes_[id->value]);
}

void AgentsEngine::receive(AgentFrame frame) {
  if (recovered_) return serve(frame);
  if (early_.size() < kEarlyMax) early_.push_back(std::move(frame));
}

void AgentsEngine::serve(const AgentFrame& frame) {
  const auto found = sessions_.find(frame.session);
  if (found == sessions_.end()) return;
  if (!found->second) {
    const auto* hello = frame.message ? std::get_if<Hello>(&*frame.message) : nullptr;
    if (hello && frame.number == 1) greet(frame, *hello);
    return;
  }
  NodeView& node = nodes_[found->second->value];
  note_clock(node, frame, clock_.now());
  node.outbox.received(clock_.now(), frame.received);
  node.outbox.forget(frame.received);
  if (frame.message) node.inbox.put(frame.number, *frame.message);
  take_messages(node);
  flush(node);
}

void AgentsEngine::take_messages(NodeView& node) {
  while (handed_over_ + news_.events.size() < options_.news_max) {
    const auto message = node.inbox.next();
    if (!message) break;
    std::visit([&](const auto& each) { on(node, each); }, *message);
    note_taken(node);
  }
  kit_.reset();
}

// With nothing on its way to the journal, what was taken needs no waiting for.
void AgentsEngine::note_taken(NodeView& node) {
  if (news_.empty() && handed_over_ == 0)
    node.durable = node.observed = node.inbox.taken();
  else
    fresh_.insert(node.id);
}

void AgentsEngine::flush(NodeView& node) {
  if (node.session && send_) {
    node.outbox.flush(clock_.now(), [&](std::uint64_t number, const ServerMessage& message) {
      send_({*node.session, number, node.inbox.taken(), node.durable, message});
      node.inbox.answered();
    });
    if (node.inbox.owes_answer()) send_({*node.session, 0, node.inbox.taken(), node.durable, {}});
    node.inbox.answered();
  }
  set_timer(node);
}

void AgentsEngine::set_timer(NodeView& node) {
  std::optional<Time> due;
  const auto sooner = [&](const std::optional<Time>& at) {
    if (at) due = std::min(due.value_or(*at), *at);
  };
  if (node.session) sooner(node.outbox.next_due());
  sooner(node.down_at);
  sooner(node.lost_at);
  if (due == node.due) return;
  if (node.due) timers_.erase({*node.due, node.id});
  node.due = due;
  if (due) timers_.insert({*due, node.id});
}

void AgentsEngine::step() {
  const Time now = clock_.now();
  for (const ProcessKey& key : std::exchange(unheard_, {})) {
    SeatView* seat = find_seat(key);
    ClaimView* claim = seat ? nodes_[seat->node.value].find_claim(key) : nullptr;
    if (claim) hear(*find_gang(key), key, *seat, *claim);
  }
  while (!timers_.empty() && timers_.begin()->first <= now) {
    NodeView& node = nodes_[timers_.begin()->second.value];
    if (node.down_at && *node.down_at <= now) count_down(node);
    if (node.lost_at && *node.lost_at <= now)
      count_lost(node, "node " + node.spec.name + " was not heard of again", true);
    flush(node);
  }
}

// ---- nodes ----

void AgentsEngine::learn_nodes(const State& state) {
  for (const Node& each : state.nodes()) {
    NodeView& node = node_named(each.spec.name);
    check(node.id == each.id, "node names are unique");
    node.spec = each.spec;
    node.up = each.up;
    node.off = !each.off_by.empty();
    leave(node);
  }
}

NodeView& AgentsEngine::node_named(const std::string& name) {
  const auto [found, fresh] = names_.try_emplace(name, static_cast<std::uint32_t>(nodes_.size()));
  if (fresh) nodes_.emplace_back().id = found->second;
  return nodes_[found->second.value];
}

void AgentsEngine::leave(NodeView& node) {
  const Time now = clock_.now();
  node.session.reset();
  node.outbox = {};
  if (node.spec.lease)
    node.lost_at = std::max(now + lost_after(*node.spec.lease), node.leased_until);
  if (node.left)
    count_down(node);
  else if (node.up)
    node.down_at = now + options_.down_after;
  set_timer(node);
}

void AgentsEngine::left(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  NodeView& node = nodes_[found->second.value];
  node.left = true;
  if (!node.session) count_down(node);
  set_timer(node);
}

void AgentsEngine::count_down(NodeView& node) {
  node.down_at.reset();
  if (!std::exchange(node.up, false)) return;
  tell(NodeDown{node.id});
  const auto seats = node.seats;
  for (const ProcessKey& key : seats) reconcile(node, key);
}

void AgentsEngine::count_lost(NodeView& node, const std::string& why, bool leased_only) {
  node.lost_at.reset();
  for (const ProcessKey& key : node.seats) {
    if (leased_only && find_gang(key)->spec->on_disconnect == OnDisconnect::go_on) continue;
    tell_ended(key, *find_seat(key), {Cause::node_lost, {}, 0, why, clock_.now()});
  }
  lose_checkpoints(node);
}

Result<void> AgentsEngine::count_off(std::string_view name, std::string_view by) {
  const auto found = names_.find(name);
  if (found == names_.end())
    return fail(ErrorCode::not_found, fmt::format("No node '{}' was ever heard.", name),
                "'paceline nodes' shows them.");
  NodeView& node = nodes_[found->second.value];
  if (node.session)
    return fail(ErrorCode::conflict, fmt::format("Node '{}' is heard, so it isn't off.", name),
                "Leave out --is-off, or turn the machine off first.");
  count_down(node);
  if (!std::exchange(node.off, true)) tell(NodeOff{node.id, std::string(by)});
  count_lost(node, fmt::format("{} said that node {} is off", by, name), false);
  set_timer(node);
  return {};
}

// A machine that bears the name of another one knows nothing of what runs there: to hear it would
// be to believe that nothing does. It is heard once the other one has nothing left and is gone.
bool AgentsEngine::is_taken(const NodeView& node, const NodeSpec& by) {
  return is_another(node.spec, by) && (node.session || !node.seats.empty());
}

void AgentsEngine::turn_away(NodeView& node, Session session) {
  if (std::exchange(node.turned_away, session) == session) return;
  spdlog::warn(
      "Another machine calls itself {}: it is not heard as long as the one before is there or has "
      "workers. Give it a host name of its own.",
      node.spec.name);
}

// Its workers have the lease that they were told last until they hear of another one.
void AgentsEngine::note_lease(NodeView& node) const {
  if (!node.spec.lease) return;
  const Time until = node.lost_at.value_or(clock_.now() + lost_after(*node.spec.lease));
  node.leased_until = std::max(node.leased_until, until);
}

void AgentsEngine::greet(const AgentFrame& frame, const Hello& hello) {
  const Session session = frame.session;
  NodeView& node = node_named(hello.node.name);
  if (session <= node.last_session) return;  // overtaken by a later one: what it says is old
  if (is_taken(node, hello.node)) return turn_away(node, session);
  // What a plan seats there until the journal says so, it means for the machine before.
  node.unsaid = node.unsaid || is_another(node.spec, hello.node);
  node.left = false;
  node.last_session = session;
  if (node.session) {
    spdlog::warn("Another agent for node {} has connected: the one before is not heard any more.",
                 hello.node.name);
    sessions_.erase(*node.session);
  }
  sessions_[session] = node.id;
  node.session = session;
  note_clock(node, frame, clock_.now());
  node.outbox = {};
  node.inbox.restart();
  node.inbox.put(1, hello);
  node.inbox.next();
  node.observed = node.durable = 0;
  note_lease(node);
  node.down_at.reset();
  node.lost_at.reset();
  on(node, hello);
  note_taken(node);
  kit_.reset();
  flush(node);
}

void AgentsEngine::tell_node(NodeView& node, NodeSpec spec) {
  if (spec.refusal) spec.refusal->until = until_here(node, *spec.refusal);
  if (node.up && node.spec == spec) return;
  node.up = true;
  node.off = false;
  node.spec = std::move(spec);
  tell(NodeUp{node.id, node.spec});
}

void AgentsEngine::adopt_claims(NodeView& node, const Hello& hello) {
  const auto before = std::exchange(node.claims, {});
  for (const Claim& each : hello.claims) {
    ClaimView& claim = node.claims[each.key];
    SeatView* seat = find_seat(node, each.key);
    if (const auto known = before.find(each.key); known != before.end()) {
      claim.gone = known->second.gone;
      claim.last_report = known->second.last_report;
      claim.last_checkpoint = known->second.last_checkpoint;
      claim.last_model = known->second.last_model;
    } else if (seat && options_.newest_report) {
      // An agent tells again what it doesn't know to be stored: of old steps the job would be shown
      // to be back at.
      claim.last_report = options_.newest_report(each.key);
    }
    // An agent that can't read a claim any more says that it may hold everything.
    claim.slots = seat ? seat->slots : each.slots;
    claim.ready = each.ready;
    claim.stands = each.stands;
    if (!seat) continue;
    seat->maybe_started = true;
    if (each.pid != 0) tell_started(each.key, *seat, each.pid);
  }
}

// ---- what agents tell ----

void AgentsEngine::note_clock(NodeView& node, const AgentFrame& frame, Time now) {
  if (frame.clock != Time{}) node.clock_ahead = frame.clock - now;
}

// Frames travel for a while, so this is a little late, and never before what was decided ahead of
// it.
Time AgentsEngine::when(const NodeView& node, Time told) const {
  const Time now = clock_.now();
  return std::clamp(told - node.clock_ahead, now - kToldLateMax, now);
}

// By the server's clock. The same refusal told again ends when it was said to first.
Time AgentsEngine::until_here(const NodeView& node, const Refusal& refusal) const {
  const Time now = clock_.now();
  const Time until = std::clamp(refusal.until - node.clock_ahead, now, now + kRefusalLongest);
  const auto& known = node.spec.refusal;
  const bool same =
      known && known->why == refusal.why && std::chrono::abs(known->until - until) < kRefusalAgain;
  return same ? known->until : until;
}

void AgentsEngine::on(NodeView& node, const Hello& hello) {
  tell_node(node, hello.node);
  adopt_claims(node, hello);
  auto keys = node.seats;
  for (const auto& [key, claim] : node.claims) keys.insert(key);
  for (const ProcessKey& key : keys) reconcile(node, key);
  for (auto& [job, wanted] : wanted_)
    for (Wanted& each : wanted)
      if (each.node == node.id) each.asked = false;
  ask_for_checkpoints(node);
}

void AgentsEngine::on(NodeView& node, const NodeChanged& changed) {
  NodeSpec spec = changed.node;
  spec.name = node.spec.name;
  tell_node(node, std::move(spec));
}

void AgentsEngine::on(NodeView& node, const WorkerRuns& runs) {
  if (SeatView* seat = find_seat(node, runs.key)) tell_started(runs.key, *seat, runs.pid);
}

// What one says that has not joined its gang is kept, and does not count.
void AgentsEngine::on(NodeView& node, const WorkerReport& report) {
  ClaimView* claim = node.find_claim(report.key);
  const SeatView* seat = find_seat(node, report.key);
  if (!claim || !seat || report.report <= claim->last_report) return;
  claim->last_report = report.report;
  const Time at = when(node, report.at);
  if (seat->joined)
    tell(Progressed{report.key.job, find_gang(report.key)->generation, progress_of(report, at)});
  news_.points.push_back({report.key.job, report.key.born, report.key.number, report.report, at,
                          report.step, report.samples, report.metrics});
}

void AgentsEngine::on(NodeView& node, const CheckpointSeen& checkpoint) {
  ClaimView* claim = node.find_claim(checkpoint.key);
  const SeatView* seat = find_seat(node, checkpoint.key);
  if (!claim || !seat || checkpoint.report <= claim->last_checkpoint) return;
  claim->last_checkpoint = checkpoint.report;
  if (!seat->joined || checkpoint.path.empty()) return;
  const GangView& gang = *find_gang(checkpoint.key);
  Checkpoint acknowledged{checkpoint.path, checkpoint.step, checkpoint.samples,
                          when(node, checkpoint.at)};
  if (node.spec.keeps && gang.spec->checkpoint_store == CheckpointStore::server)
    acknowledged.place = {
        node.spec.name, path_inside(checkpoint.inside), checkpoint.key, checkpoint.report, {}, {}};
  tell(CheckpointAcknowledged{checkpoint.key.job, gang.generation, std::move(acknowledged)});
}

void AgentsEngine::on(NodeView& node, const ModelSeen& seen) {
  ClaimView* claim = node.find_claim(seen.key);
  const SeatView* seat = find_seat(node, seen.key);
  if (!claim || !seat || seen.report <= claim->last_model) return;
  claim->last_model = seen.report;
  if (!seat->joined) return;
  tell(ModelPublished{seen.key.job,
                      find_gang(seen.key)->generation,
                      {node.spec.name, seen.path, seen.sha256, seen.bytes, seen.step, seen.samples,
                       when(node, seen.at)}});
}

void AgentsEngine::on(NodeView& node, const WorkerWarning& warned) {
  const auto& [key, warning, holds] = warned;
  const SeatView* seat = find_seat(node, key);
  if (seat && seat->joined) tell(JobWarned{key.job, find_gang(key)->generation, warning, holds});
}

void AgentsEngine::on(NodeView& node, const WorkerPlaced& placed) {
  ClaimView* claim = node.find_claim(placed.key);
  SeatView* seat = find_seat(node, placed.key);
  if (!claim || !seat) return;
  claim->ready = placed.ready;
  claim->stands = placed.stands;
  hear(*find_gang(placed.key), placed.key, *seat, *claim);
}

void AgentsEngine::on(NodeView& node, const WorkerGone& gone) {
  ClaimView& claim = node.claims[gone.key];
  if (claim.gone) return;
  claim.gone = true;
  if (SeatView* seat = find_seat(node, gone.key))
    tell_ended(gone.key, *seat, ending_of(gone, *find_gang(gone.key), *seat, when(node, gone.at)));
  reconcile(node, gone.key);
  settle_held(node);
}

}  // namespace paceline
