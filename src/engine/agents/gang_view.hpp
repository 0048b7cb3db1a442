// What the state wants of one job's workers, copied from it so that agents can be served between
// two acts. O(workers) to make.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "model/state.hpp"
#include "model/worker.hpp"

namespace paceline {

struct SeatView {
  ProcessKey process;  // that fills it
  NodeId node;
  std::vector<std::uint32_t> slots;
  WorkerState state = WorkerState::assigned;
  std::optional<Stop> stop = {};
  bool waits = false;  // not all of its slots are its own yet
  bool ready = false;  // to join its gang, as the state knows or was told
  bool joined = true;  // it is or was a member: what it says of the job counts
  // A claim may exist somewhere: its start was sent, an agent named it, or an earlier server may
  // have sent it.
  bool maybe_started = false;
  bool start_told = false;  // WorkerStarted was told
  bool end_told = false;    // WorkerEnded was told: whatever of it still turns up is killed
};

// A gang of a live job: the current one, or the one that forms in place beside it.
struct GangView {
  JobId job;
  Generation generation;
  Generation oldest;    // into which one of its processes was born
  bool stands = false;  // all ranks have met, as the state knows or was told
  bool waits = false;   // its members are told of no place in it: others are to join them first
  std::shared_ptr<const JobSpec> spec;
  std::int32_t attempt = 1;
  bool frozen = false;
  bool lends = false;  // its slots to others
  bool should_stop = false;
  std::optional<Checkpoint> checkpoint;
  Time submitted_at;
  Duration ran{};                 // of the job, while no time of it counts
  std::optional<Time> limit_at;   // when its time is over, while it counts
  std::vector<SeatView> seats;    // by rank
  std::vector<SeatView> parting;  // that leave; of the current one
  // That forms in place; of the current one. Its seats of processes that are there already say nothing.
  std::shared_ptr<GangView> next;
  std::vector<std::string> addresses;  // by rank
  PortRange ports;                     // that all of its nodes have
  [[nodiscard]] std::optional<std::size_t> rank_of(const ProcessKey& process) const;
  // REQUIRES: it is a member.
  [[nodiscard]] Membership membership(const ProcessKey& process) const;
  // A member, or one that leaves; nullptr: it is neither.
  [[nodiscard]] SeatView* find(const ProcessKey& process);
  // Of this gang: itself, or the next one for those that join it; nullptr: it knows nothing of it.
  [[nodiscard]] GangView* gang_of(const ProcessKey& process);
  // visit(seat) of everyone that there is something to do for.
  template <class Visit>
  void each_seat(Visit visit) {
    for (SeatView& seat : seats) visit(seat);
    for (SeatView& seat : parting) visit(seat);
    if (!next) return;
    for (SeatView& seat : next->seats)
      if (!rank_of(seat.process)) visit(seat);
  }
};

// Nothing if the job has no current gang.
std::optional<GangView> view_gang(const State& state, JobId job);

// Takes over from `before`, an earlier view of the same job, what the state does not know of the
// processes that are in both.
void inherit(GangView& view, GangView& before);

// Where every worker stands among its gang's workers on its node, and its node among the gang's nodes (in
// the order of their lowest ranks); and where rank 0 waits for them, `port` on its node. Workers of one
// node meet on that node, whatever network it is in.
std::vector<GangPlace> gang_places(const GangView& gang, std::uint32_t port);

// The gang's nodes in that order. REQUIRES: `places` are its own.
std::vector<NodeId> nodes_by_group(const GangView& gang, const std::vector<GangPlace>& places);

// Of a gang on several nodes: the rank of a worker whose node's address means each machine itself,
// while another's is one of a network. Nothing: as far as addresses tell, all reach each other.
std::optional<std::size_t> rank_out_of_reach(const GangView& gang);

// How long a worker of it may still run; nothing if its owner set no limit.
std::optional<RunLimit> limit_of(const GangView& gang, Time now);
// How long one runs there without its machine hearing of the server; nothing: for ever.
std::optional<RunLimit> lease_of(const JobSpec& spec, const NodeSpec& node);

// All that an agent needs to start one worker.
WorkerLaunch make_launch(const GangView& gang, std::size_t rank, const GangPlace& place,
                         LaunchSpec launch);

}  // namespace paceline
