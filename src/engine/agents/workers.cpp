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

Ending never_started(const SeatView& seat, std::string why, Time now) {
  return {seat.stop ? seat.stop->cause : Cause::node_lost, {}, 0, std::move(why), now};
}

}  // namespace

GangView* AgentsEngine::find_gang(const ProcessKey& key) {
  const auto found = gangs_.find(key.job);
  return found == gangs_.end() ? nullptr : found->second.gang_of(key);
}

SeatView* AgentsEngine::find_seat(const ProcessKey& key) {
  GangView* gang = find_gang(key);
  SeatView* seat = gang ? gang->find(key) : nullptr;
  return seat && seat->state != WorkerState::ended ? seat : nullptr;
}

SeatView* AgentsEngine::find_seat(const NodeView& node, const ProcessKey& key) {
  SeatView* seat = find_seat(key);
  return seat && seat->node == node.id ? seat : nullptr;
}

// ---- the state changed ----

void AgentsEngine::take_view(std::optional<GangView> next, JobId job, bool first) {
  std::set<std::pair<NodeId, ProcessKey>> touched;
  if (const auto found = gangs_.find(job); found != gangs_.end()) {
    GangView before = std::move(found->second);
    gangs_.erase(found);
    if (next) inherit(*next, before);
    before.each_seat([&](const SeatView& seat) {
      nodes_[seat.node.value].seats.erase(seat.process);
      touched.insert({seat.node, seat.process});
    });
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
  gang.each_seat([&](SeatView& seat) {
    seat.maybe_started = seat.maybe_started || first || seat.state != WorkerState::assigned;
    touched.insert({seat.node, seat.process});
    if (seat.state != WorkerState::ended) nodes_[seat.node.value].seats.insert(seat.process);
  });
  gangs_.insert_or_assign(gang.job, std::move(gang));
}

// ---- one worker ----

void AgentsEngine::reconcile(NodeView& node, const ProcessKey& key) {
  SeatView* seat = find_seat(node, key);
  if (!seat) return reconcile_unwanted(node, key);
  GangView& gang = *find_gang(key);
  if (!node.session) return reconcile_away(node, key, *seat);
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
void AgentsEngine::reconcile_away(NodeView& node, const ProcessKey& key, SeatView& seat) {
  if (node.up || seat.maybe_started) return;
  node.held.erase(key);
  if (!seat.waits)
    tell_ended(key, seat, never_started(seat, "node " + node.spec.name + " is down", clock_.now()));
}

void AgentsEngine::reconcile_absent(NodeView& node, const GangView& gang, const ProcessKey& key,
                                    SeatView& seat) {
  if (seat.end_told || seat.waits) return;
  const bool ran = seat.start_told || seat.state == WorkerState::running;
  if (!ran && !seat.stop) return start(node, gang, key, seat);
  node.held.erase(key);
  if (ran)
    tell_ended(
        key, seat,
        {Cause::node_lost, {}, 0, "node " + node.spec.name + " has no trace of it", clock_.now()});
  else
    tell_ended(key, seat, never_started(seat, "it was stopped before it started", clock_.now()));
}

void AgentsEngine::reconcile_present(NodeView& node, GangView& gang, const ProcessKey& key,
                                     SeatView& seat, ClaimView& claim) {
  if (claim.gone) return;
  if (seat.end_told) return stop(node, gang, key, claim, seat.stop, clock_.now());
  hear(gang, key, seat, claim);
  const bool leaves = !gang.rank_of(key).has_value();
  if (!leaves) enrol(node, gang, key, claim);
  const bool frozen = gang.frozen && !leaves;
  if (claim.frozen != frozen) {
    claim.frozen = frozen;
    if (frozen)
      node.outbox.push(FreezeWorker{key});
    else
      node.outbox.push(ThawWorker{key});
  }
  const bool lent = std::exchange(claim.lends, gang.lends);
  if (gang.lends && !lent) settle_held(node);
  if (gang.should_stop && !std::exchange(claim.should_stop, true))
    node.outbox.push(ShouldStop{key, "target_reached"});
  if (seat.stop) return stop(node, gang, key, claim, seat.stop, seat.stop->at + seat.stop->grace);
  if (gang.limit_at && std::exchange(claim.limit_at, gang.limit_at) != gang.limit_at)
    node.outbox.push(LimitWorker{key, *limit_of(gang, clock_.now())});
}

// One that was born into a generation before this one can't know its place from its environment.
void AgentsEngine::enrol(NodeView& node, const GangView& gang, const ProcessKey& key,
                         ClaimView& claim) {
  if (gang.waits || key.born == gang.generation ||
      std::exchange(claim.enrolled, gang.generation) == gang.generation)
    return;
  const auto rank = *gang.rank_of(key);
  const auto places = gang_places(gang, port_of(gang).value_or(0));
  node.outbox.push(EnrolWorker{key, gang.membership(key), places[rank]});
}

// What it says of its gang counts once the state is as far. What the state lets count is told with the next
// step: a replay takes all that is told at one time for one step.
void AgentsEngine::hear(GangView& gang, const ProcessKey& key, SeatView& seat,
                        const ClaimView& claim) {
  const bool joins = forms_in_place(gang);
  const bool is_ready =
      joins && claim.ready == gang.generation && !seat.ready && seat.state == WorkerState::running;
  const bool stands = !joins && claim.stands == gang.generation && !gang.stands;
  if (!is_ready && !stands) return;
  if (acting_) return static_cast<void>(unheard_.insert(key));
  if (is_ready) tell(WorkerReady{key, gang.generation});
  if (stands) tell(GangStands{gang.job, gang.generation});
  seat.ready = seat.ready || is_ready;
  gang.stands = gang.stands || stands;
}

bool AgentsEngine::forms_in_place(const GangView& gang) const {
  return gangs_.at(gang.job).next.get() == &gang;
}

// Where a gang that goes on has one that leaves it, that one is told so: a notice would be for all.
void AgentsEngine::stop(NodeView& node, const GangView& gang, const ProcessKey& key,
                        ClaimView& claim, const std::optional<Stop>& stop, Time deadline) {
  if (claim.kill_at && *claim.kill_at <= deadline) return;
  claim.kill_at = deadline;
  const Duration grace = stop ? stop->grace : Duration::zero();
  const Duration left = std::clamp(deadline - clock_.now(), Duration::zero(), grace);
  if (!gang.rank_of(key) && left > Duration::zero())
    node.outbox.push(LeaveGang{key, gang.generation, left});
  else
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

// A claim that the state does not want. One that was born together with a process of the gang, or after
// its oldest, dies alone: a fence would take those, too.
void AgentsEngine::fence(NodeView& node, const ProcessKey& key, ClaimView& claim) {
  if (claim.fenced) return;
  claim.fenced = true;
  const auto found = gangs_.find(key.job);
  if (found != gangs_.end() && found->second.oldest <= key.born)
    return stop(node, found->second, key, claim, {}, clock_.now());
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

// All others come to rank 0's node. Each tries the next one besides, so that all ways are tried that
// a ring takes, and no node tries more than two.
std::vector<GangPeer> AgentsEngine::peers_of(const GangPlace& place) const {
  std::vector<GangPeer> peers;
  const auto& nodes = kit_->nodes;
  const auto add = [&](std::size_t group) {
    const NodeSpec& node = nodes_[nodes[group].value].spec;
    if (node.reach_port != 0)
      peers.push_back({node.name, node.address, node.reach_port, node.reach_nonce});
  };
  const auto own = static_cast<std::size_t>(place.group_rank);
  const std::size_t next = (own + 1) % nodes.size();
  if (own != 0) add(0);
  if (next != 0) add(next);
  return peers;
}

Result<WorkerLaunch> AgentsEngine::launch_of(const GangView& gang, const ProcessKey& key) {
  const auto port = port_of(gang);
  if (!kit_ || kit_->job != key.job || kit_->generation != gang.generation) {
    auto places = gang_places(gang, port.value_or(0));
    auto nodes = nodes_by_group(gang, places);
    kit_ =
        StartKit{key.job, gang.generation, std::move(places), std::move(nodes), launches_(key.job)};
  }
  if (!kit_->launch) return fail(kit_->launch.error());
  if (const auto rank = rank_out_of_reach(gang)) return fail(out_of_reach(gang, *rank));
  const std::size_t rank = *gang.rank_of(key);
  const GangPlace& place = kit_->places[rank];
  WorkerLaunch launch = make_launch(gang, rank, place, *kit_->launch);
  if (!port && launch.group_world_size > 1)
    return fail(
        ErrorCode::unavailable,
        fmt::format("The nodes of the gang have no {} ports in common: give all of them the "
                    "same net.ipv4.ip_local_port_range.",
                    ports_needed(launch.world_size)));
  launch.port = port.value_or(0);
  if (forms_in_place(gang)) launch.joins = place;
  // Where a process of the gang goes on, the setup was run for that one.
  if (std::ranges::any_of(gang.seats, [&](const SeatView& seat) {
        return seat.node == gang.seats[rank].node && seat.process.born < key.born;
      }))
    launch.launch.setup.clear();
  launch.peers = peers_of(place);
  launch.age = clock_.now() - gang.submitted_at;
  launch.limit = limit_of(gang, clock_.now());
  launch.lease = lease_of(*gang.spec, nodes_[gang.seats[rank].node.value].spec);
  return launch;
}

// The first of its ports; nothing: its nodes have too few in common.
std::optional<std::uint32_t> AgentsEngine::port_of(const GangView& gang) const {
  const std::uint32_t ports = ports_needed(static_cast<std::int32_t>(gang.seats.size()));
  return gang_port(gang.ports, gang.job, gang.generation, ports, options_.ports_salt);
}

}  // namespace paceline
