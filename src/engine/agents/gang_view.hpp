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
  bool goes_on = false;  // in the gang that forms: the stop of this one is not for it
  // A claim may exist somewhere: its start was sent, an agent named it, or an earlier server may
  // have sent it.
  bool maybe_started = false;
  bool start_told = false;  // WorkerStarted was told
  bool end_told = false;    // WorkerEnded was told: whatever of it still turns up is killed
};

// The current gang of a live job.
struct GangView {
  JobId job;
  Generation generation;
  Generation oldest;  // into which one of its processes was born
  std::shared_ptr<const JobSpec> spec;
  std::int32_t attempt = 1;
  std::optional<Stop> stop;
  bool frozen = false;
  bool lends = false;  // its slots to others
  bool should_stop = false;
  std::string checkpoint;
  Time submitted_at;
  Duration ran{};                      // of the job, while no time of it counts
  std::optional<Time> limit_at;        // when its time is over, while it counts
  std::vector<SeatView> seats;         // by rank
  std::vector<std::string> addresses;  // by rank
  PortRange ports;                     // that all of its nodes have
  [[nodiscard]] std::optional<std::size_t> rank_of(const ProcessKey& process) const;
  // REQUIRES: it is a member.
  [[nodiscard]] Membership membership(const ProcessKey& process) const;
};

// Nothing if the job has no current gang.
std::optional<GangView> view_gang(const State& state, JobId job);

// Takes over from `before`, an earlier view of the same job, what the state does not know of the
// processes that are in both.
void inherit(GangView& view, const GangView& before);

// Position of every worker among its gang's workers on its node, and of its node among the gang's
// nodes (in the order of their lowest ranks).
struct LocalPlace {
  std::int32_t local_rank = 0;
  std::int32_t local_world_size = 1;
  std::int32_t group_rank = 0;
  std::int32_t group_world_size = 1;
  friend bool operator==(const LocalPlace&, const LocalPlace&) = default;
};
std::vector<LocalPlace> local_places(const GangView& gang);

// Of a gang on several nodes: the rank of a worker whose node's address means each machine itself,
// while another's is one of a network. Nothing: as far as addresses tell, all reach each other.
std::optional<std::size_t> rank_out_of_reach(const GangView& gang);

// How long a worker of it may still run; nothing if its owner set no limit.
std::optional<RunLimit> limit_of(const GangView& gang, Time now);
// How long one runs there without its machine hearing of the server; nothing: for ever.
std::optional<RunLimit> lease_of(const JobSpec& spec, const NodeSpec& node);

// All that an agent needs to start one worker. Workers of one node meet on that node, whatever network
// it is in.
WorkerLaunch make_launch(const GangView& gang, std::size_t rank, const LocalPlace& place,
                         LaunchSpec launch);

}  // namespace paceline
