// What the state wants of each worker against what its agent holds.
#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "engine/agents/agents_engine.hpp"

namespace paceline {
namespace {

constexpr ProcessKey kLastKey{JobId{std::numeric_limits<std::uint32_t>::max()},
                              Generation{std::numeric_limits<std::uint32_t>::max()},
                              std::numeric_limits<std::int32_t>::max()};

Ending never_started(const GangView& gang, std::string why, Time now) {
  return {gang.stop ? gang.stop->cause : Cause::node_lost, {}, 0, std::move(why), now};
}

}  // namespace

GangView* AgentsEngine::find_gang(const ProcessKey& key) {
  const auto found = gangs_.find(key.job);
  if (found == gangs_.end() || !found->second.rank_of(key)) return nullptr;
  return &found->second;
}

SeatView* AgentsEngine::find_seat(const ProcessKey& key) {
  const auto gang = gangs_.find(key.job);
  const auto rank = gang == gangs_.end() ? std::nullopt : gang->second.rank_of(key);
  if (!rank) return nullptr;
  SeatView& seat = gang->second.seats[*rank];
  return seat.state == WorkerState::ended ? nullptr : &seat;
}

SeatView* AgentsEngine::find_seat(const NodeView& node, const ProcessKey& key) {
  SeatView* seat = find_seat(key);
  return seat && seat->node == node.id ? seat : nullptr;
}

// ---- the state changed ----

void AgentsEngine::take_view(std::optional<GangView> next, JobId job, bool first) {
  std::set<std::pair<NodeId, ProcessKey>> touched;
  if (const auto found = gangs_.find(job); found != gangs_.end()) {
    const GangView before = std::move(found->second);
    gangs_.erase(found);
    if (next) inherit(*next, before);
    for (const SeatView& seat : before.seats) {
      nodes_[seat.node.value].seats.erase(seat.process);
      touched.insert({seat.node, seat.process});
    }
  }
  if (next) take_seats(std::move(*next), first, touched);
  for (const auto& [node, key] : touched) reconcile(nodes_[node.value], key);
  for (auto it = touched.begin(); it != touched.end();
       it = touched.upper_bound({it->first, kLastKey})) {
    flush(nodes_[it->first.value]);
  }
}

void AgentsEngine::take_seats(GangView gang, bool first,
                              std::set<std::pair<NodeId, ProcessKey>>& touched) {
  for (SeatView& seat : gang.seats) {
    seat.maybe_started = seat.maybe_started || first || seat.state != WorkerState::assigned;
    touched.insert({seat.node, seat.process});
    if (seat.state != WorkerState::ended) nodes_[seat.node.value].seats.insert(seat.process);
  }
  gangs_.insert_or_assign(gang.job, std::move(gang));
}

// ---- one worker ----

void AgentsEngine::reconcile(NodeView& node, const ProcessKey& key) {
  SeatView* seat = find_seat(node, key);
  if (!seat) return reconcile_unwanted(node, key);
  const GangView& gang = *find_gang(key);
  if (!node.session) return reconcile_away(node, gang, key, *seat);
  ClaimView* claim = node.find_claim(key);
  if (claim)
    reconcile_present(node, gang, key, *seat, *claim);
  else
    reconcile_absent(node, gang, key, *seat);
}

void AgentsEngine::reconcile_unwanted(NodeView& node, const ProcessKey& key) {
  node.held.erase(key);
  ClaimView* claim = node.find_claim(key);
  if (!claim || !node.session) return;
  if (!claim->gone) return fence(node, key, *claim);
  node.claims.erase(key);
  node.outbox.push(DiscardWorker{key});
}

// Nothing can be sent. What was never sent needs no waiting for an answer.
void AgentsEngine::reconcile_away(NodeView& node, const GangView& gang, const ProcessKey& key,
                                  SeatView& seat) {
  if (node.up || seat.maybe_started) return;
  node.held.erase(key);
  tell_ended(key, seat, never_started(gang, "node " + node.spec.name + " is down", clock_.now()));
}

void AgentsEngine::reconcile_absent(NodeView& node, const GangView& gang, const ProcessKey& key,
                                    SeatView& seat) {
  if (seat.end_told) return;
  const bool ran = seat.start_told || seat.state == WorkerState::running;
  if (!ran && !gang.stop) return start(node, gang, key, seat);
  node.held.erase(key);
  if (ran)
    tell_ended(
        key, seat,
        {Cause::node_lost, {}, 0, "node " + node.spec.name + " has no trace of it", clock_.now()});
  else
    tell_ended(key, seat, never_started(gang, "it was stopped before it started", clock_.now()));
}

void AgentsEngine::reconcile_present(NodeView& node, const GangView& gang, const ProcessKey& key,
                                     const SeatView& seat, ClaimView& claim) {
  if (claim.gone) return;
  if (seat.end_told) return stop(node, gang, key, claim, clock_.now());
  if (key.born != gang.generation &&
      std::exchange(claim.enrolled, gang.generation) != gang.generation)
    node.outbox.push(EnrolWorker{key, gang.membership(key)});
  if (claim.frozen != gang.frozen) {
    claim.frozen = gang.frozen;
    if (gang.frozen)
      node.outbox.push(FreezeWorker{key});
    else
      node.outbox.push(ThawWorker{key});
  }
  const bool lent = std::exchange(claim.lends, gang.lends);
  if (gang.lends && !lent) settle_held(node);
  if (gang.should_stop && !std::exchange(claim.should_stop, true))
    node.outbox.push(ShouldStop{key, "target_reached"});
  if (gang.stop && !seat.goes_on)
    return stop(node, gang, key, claim, gang.stop->at + gang.stop->grace);
  if (gang.limit_at && std::exchange(claim.limit_at, gang.limit_at) != gang.limit_at)
    node.outbox.push(LimitWorker{key, *limit_of(gang, clock_.now())});
}

void AgentsEngine::stop(NodeView& node, const GangView& gang, const ProcessKey& key,
                        ClaimView& claim, Time deadline) {
  if (claim.kill_at && *claim.kill_at <= deadline) return;
  claim.kill_at = deadline;
  const Duration grace = gang.stop ? gang.stop->grace : Duration::zero();
  const Duration left = std::clamp(deadline - clock_.now(), Duration::zero(), grace);
  node.outbox.push(StopWorker{key, gang.spec->notice.signal, left});
}

void AgentsEngine::start(NodeView& node, const GangView& gang, const ProcessKey& key,
                         SeatView& seat) {
  if (node.unsaid || node.conflicts(key, seat.slots)) {
    node.held.insert(key);
    return;
  }
  node.held.erase(key);
  auto launch = launch_of(gang, key);
  if (!launch) {
    const bool machines = launch.error().retry == Retry::may_help;
    return tell_ended(key, seat,
                      {machines ? Cause::refused : Cause::launch_failed,
                       {},
                       0,
                       launch.error().message,
                       clock_.now()});
  }
  seat.maybe_started = true;
  ClaimView& claim = node.claims[key];
  claim.slots = seat.slots;
  claim.frozen = false;
  node.outbox.push(StartWorker{std::move(*launch)});
}

void AgentsEngine::settle_held(NodeView& node) {
  const auto held = node.held;
  for (const ProcessKey& key : held) reconcile(node, key);
}

// A claim that the state does not want. One that was born together with a process of the gang, or
// after its oldest, dies alone: a fence would take those, too.
void AgentsEngine::fence(NodeView& node, const ProcessKey& key, ClaimView& claim) {
  if (claim.fenced) return;
  claim.fenced = true;
  const auto found = gangs_.find(key.job);
  if (found != gangs_.end() && found->second.oldest <= key.born &&
      key.born <= found->second.generation)
    return stop(node, found->second, key, claim, clock_.now());
  node.outbox.push(FenceJob{key.job, key.born});
  const ProcessKey first{key.job, {}, 0};
  for (auto it = node.claims.lower_bound(first);
       it != node.claims.end() && it->first.job == key.job; ++it) {
    if (it->first.born <= key.born) it->second.fenced = true;
  }
}

Error AgentsEngine::out_of_reach(const GangView& gang, std::size_t rank) const {
  const NodeSpec& node = nodes_[gang.seats[rank].node.value].spec;
  return {ErrorCode::unavailable,
          fmt::format("The gang's nodes don't reach each other: {} says {} for its address; start "
                      "it with --advertise ADDRESS.",
                      node.name, node.address),
          "", Retry::useless};
}

Result<WorkerLaunch> AgentsEngine::launch_of(const GangView& gang, const ProcessKey& key) {
  if (!kit_ || kit_->job != key.job || kit_->generation != gang.generation) {
    kit_ = StartKit{key.job, gang.generation, local_places(gang), launches_(key.job)};
  }
  if (!kit_->launch) return fail(kit_->launch.error());
  if (const auto rank = rank_out_of_reach(gang)) return fail(out_of_reach(gang, *rank));
  const std::size_t rank = *gang.rank_of(key);
  WorkerLaunch launch = make_launch(gang, rank, kit_->places[rank], *kit_->launch);
  const std::uint32_t ports = ports_needed(launch.world_size);
  const auto port = gang_port(gang.ports, key.job, key.born, ports, options_.ports_salt);
  if (!port && launch.group_world_size > 1)
    return fail(
        ErrorCode::unavailable,
        fmt::format("The nodes of the gang have no {} ports in common: give all of them the "
                    "same net.ipv4.ip_local_port_range.",
                    ports));
  launch.port = port.value_or(0);
  launch.age = clock_.now() - gang.submitted_at;
  launch.limit = limit_of(gang, clock_.now());
  launch.lease = lease_of(*gang.spec, nodes_[gang.seats[rank].node.value].spec);
  return launch;
}

}  // namespace paceline
