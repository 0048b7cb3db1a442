// Which jobs had the slots of a simulated cluster: how many were leased over time, and which job stood
// where in a part of it. For people to look at; kept only where somebody asks for it.
//
// Bounded whatever the trace: at most kBinsMax bins, whose width doubles as time passes, and
// kStaysMax stays of kSlotsViewed slots.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/node.hpp"
#include "model/state.hpp"
#include "sim/truth/workload.hpp"

namespace paceline::sim {

inline constexpr std::int64_t kBinsMax = 256;
inline constexpr std::size_t kSlotsViewed = 48;
inline constexpr std::size_t kStaysMax = 4'096;

// The part of the cluster and of the time in which stays are kept.
struct OccupancyView {
  Time from, until;
  std::vector<SlotId> slots;
};

// The first nodes, whole, at the time when most work waits if no slot is ever idle; as long as a
// slot changes hands some dozen times, or all the time where that is not longer. The same for
// every policy. REQUIRES: there is a node.
OccupancyView view_of(const Workload& workload, const std::vector<NodeSpec>& nodes);

// A job had a slot of the view without a break.
struct Stay {
  std::uint32_t slot = 0;  // among the view's
  std::uint32_t job = 0;   // among the trace's
  Time from, until;
};

struct Occupancy {
  OccupancyView view;  // `until` is where stays were kept no longer: at the latest the end of all
  std::vector<Stay> stays;  // by end, then slot
  Time begin, end;          // of everything
  Duration bin{};
  std::vector<double> leased;  // slot-seconds in each bin from `begin` on
};

// The same with bins of another width. REQUIRES: a doubling of the present one.
std::vector<double> leased_in_bins_of(Duration bin, const Occupancy& occupancy);

class OccupancyRecorder {
 public:
  OccupancyRecorder(OccupancyView view, Time begin);

  // The state stayed this one from the end of the last span on. REQUIRES: `until` never falls.
  void stayed(const State& state, Time until);
  // `trace_job`: where a job comes from.
  Occupancy take(const std::function<std::uint32_t(JobId)>& trace_job);

 private:
  struct Occupant {
    JobId job;
    Time since;
  };

  void widen_bins(Time until);
  void add_leased(std::int64_t slots, Time until);
  void keep_stays(const State& state, Time until);
  void close(std::size_t slot, Time at);

  Occupancy kept_;
  std::vector<JobId> jobs_;                         // of each stay
  std::vector<std::optional<Occupant>> occupants_;  // by slot of the view, as of kept_.end
};

}  // namespace paceline::sim
