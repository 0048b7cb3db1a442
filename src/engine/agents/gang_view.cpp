#include "engine/agents/gang_view.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "wire/agent_bounds.hpp"

namespace paceline {

namespace {

constexpr int kGraceOfLease = 4;  // at most this part of a lease

constexpr std::string_view kLoopback = "127.0.0.1";

}  // namespace

namespace {

GangView view_of(const State& state, const Job& job, const Gang& gang) {
  GangView view{job.id,
                gang.generation,
                gang.generation,
                gang.in_place && job.state != JobState::resizing,
                gang.waits,
                job.spec,
                gang.attempt,
                job.state == JobState::paused,
                gang.lent_at.has_value(),
                job.should_stop(),
                job.checkpoint,
                job.submitted_at,
                job.ran,
                job.limit_at(),
                {},
                {},
                {},
                {},
                {0, std::numeric_limits<std::uint32_t>::max()}};
  view.seats.reserve(gang.workers.size());
  view.addresses.reserve(gang.workers.size());
  for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
    const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
    const ProcessKey process = gang.process(job.id, rank);
    const Seat& seat = worker.seat;
    view.oldest = std::min(view.oldest, process.born);
    view.seats.push_back({process, seat.node, seat.slots, worker.state, gang.stop, false,
                          worker.ready, true, false, false, false});
    const Node* node = state.find_node(seat.node);
    view.addresses.push_back(node ? node->spec.address : "");
    if (node) view.ports = common(view.ports, node->spec.ports.value_or(kUsualPorts));
  }
  return view;
}

}  // namespace

std::optional<GangView> view_gang(const State& state, JobId id) {
  const Job* job = state.find_job(id);
  if (!job || !job->current || is_over(job->state)) return {};
  GangView view = view_of(state, *job, *job->current);
  for (const auto& [process, worker, stop, joined] : job->parting) {
    view.oldest = std::min(view.oldest, process.born);
    view.parting.push_back({process, worker.seat.node, worker.seat.slots, worker.state, stop, false,
                            worker.ready, joined, false, false, false});
  }
  if (!job->forms_in_place() || job->lends()) return view;
  view.next = std::make_shared<GangView>(view_of(state, *job, *job->forming));
  for (SeatView& seat : view.next->seats) {
    seat.joined = view.rank_of(seat.process).has_value();
    seat.waits = !state.has_seat(seat.process, {seat.node, seat.slots});
  }
  return view;
}

// Most have the rank that they were born into.
std::optional<std::size_t> GangView::rank_of(const ProcessKey& process) const {
  if (process.born < oldest || process.born > generation) return {};
  const auto number = static_cast<std::size_t>(process.number);
  if (process.number >= 0 && number < seats.size() && seats[number].process == process)
    return number;
  const auto found = std::ranges::find(seats, process, &SeatView::process);
  if (found == seats.end()) return {};
  return static_cast<std::size_t>(found - seats.begin());
}

Membership GangView::membership(const ProcessKey& process) const {
  return {generation, static_cast<std::int32_t>(*rank_of(process)),
          static_cast<std::int32_t>(seats.size())};
}

SeatView* GangView::find(const ProcessKey& process) {
  if (const auto rank = rank_of(process)) return &seats[*rank];
  const auto leaves = std::ranges::find(parting, process, &SeatView::process);
  return leaves == parting.end() ? nullptr : &*leaves;
}

GangView* GangView::gang_of(const ProcessKey& process) {
  if (find(process) != nullptr) return this;
  return next && next->rank_of(process) ? next.get() : nullptr;
}

void inherit(GangView& view, GangView& before) {
  view.each_seat([&](SeatView& seat) {
    GangView* gang = before.gang_of(seat.process);
    if (gang == nullptr) return;
    const SeatView& known = *gang->find(seat.process);
    seat.maybe_started = known.maybe_started;
    seat.start_told = known.start_told;
    seat.end_told = known.end_told;
    seat.ready = seat.ready || known.ready;
  });
  if (view.generation == before.generation) view.stands = view.stands || before.stands;
}

std::vector<GangPlace> gang_places(const GangView& gang, std::uint32_t port) {
  struct Group {
    std::int32_t rank = 0;
    std::int32_t size = 0;
  };
  std::map<NodeId, Group> groups;
  std::vector<GangPlace> places;
  places.reserve(gang.seats.size());
  for (const SeatView& seat : gang.seats) {
    const auto rank = static_cast<std::int32_t>(groups.size());
    Group& group = groups.try_emplace(seat.node, Group{rank, 0}).first->second;
    places.push_back({group.size++, 0, group.rank, 0, gang.addresses.front(), port});
  }
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    places[rank].local_world_size = groups[gang.seats[rank].node].size;
    places[rank].group_world_size = static_cast<std::int32_t>(groups.size());
    if (groups.size() == 1) places[rank].address = kLoopback;
  }
  return places;
}

std::vector<NodeId> nodes_by_group(const GangView& gang, const std::vector<GangPlace>& places) {
  std::vector<NodeId> nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (static_cast<std::size_t>(places[rank].group_rank) == nodes.size())
      nodes.push_back(gang.seats[rank].node);
  return nodes;
}

std::optional<std::size_t> rank_out_of_reach(const GangView& gang) {
  const auto found = std::ranges::find_if(gang.addresses, is_loopback);
  if (found == gang.addresses.end() || std::ranges::all_of(gang.addresses, is_loopback)) return {};
  return static_cast<std::size_t>(found - gang.addresses.begin());
}

std::optional<RunLimit> limit_of(const GangView& gang, Time now) {
  const JobSpec& spec = *gang.spec;
  if (!spec.max_duration) return std::nullopt;
  const Duration left = gang.limit_at ? *gang.limit_at - now : *spec.max_duration - gang.ran;
  return RunLimit{std::max(Duration::zero(), left), spec.notice.signal, spec.notice.grace};
}

std::optional<RunLimit> lease_of(const JobSpec& spec, const NodeSpec& node) {
  if (!node.lease || spec.on_disconnect == OnDisconnect::go_on) return std::nullopt;
  return RunLimit{*node.lease, spec.notice.signal,
                  std::min(spec.notice.grace, *node.lease / kGraceOfLease)};
}

WorkerLaunch make_launch(const GangView& gang, std::size_t rank, const GangPlace& place,
                         LaunchSpec launch) {
  const JobSpec& spec = *gang.spec;
  WorkerLaunch worker;
  worker.key = gang.seats[rank].process;
  worker.rank = static_cast<std::int32_t>(rank);
  worker.attempt = gang.attempt;
  worker.restart_count = gang.attempt - 1;
  worker.world_size = static_cast<std::int32_t>(gang.seats.size());
  worker.local_rank = place.local_rank;
  worker.local_world_size = place.local_world_size;
  worker.group_rank = place.group_rank;
  worker.group_world_size = place.group_world_size;
  worker.addresses = gang.addresses;
  if (place.group_world_size == 1)
    worker.addresses.assign(gang.addresses.size(), std::string(kLoopback));
  worker.slots = gang.seats[rank].slots;
  for (const SeatView& seat : gang.seats)
    if (seat.node == gang.seats[rank].node)
      worker.local_slots.insert(worker.local_slots.end(), seat.slots.begin(), seat.slots.end());
  worker.job_name = spec.name;
  worker.user = spec.user;
  worker.uid = spec.uid;
  worker.launch = std::move(launch);
  worker.slots_per_worker = spec.slots_per_worker;
  worker.cpus = spec.cpus;
  worker.memory_bytes = spec.memory_bytes;
  worker.log_limit_bytes = spec.log_limit_bytes;
  worker.retries = spec.retries;
  worker.pty = spec.pty;
  worker.checkpoint_glob = spec.checkpoint_glob;
  if (!gang.checkpoint) return worker;
  worker.checkpoint = gang.checkpoint->path;
  if (const auto& lies = gang.checkpoint->place; lies && !lies->ship.empty())
    worker.copy = CheckpointCopy{lies->node, path_inside(lies->inside), lies->ship};
  return worker;
}

}  // namespace paceline
