// Placers: what one fit costs in a large cluster that is nearly full, for gangs on one node and on
// several, with and without racks, and with a constraint.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "placement/pack.hpp"
#include "placement/spread.hpp"
#include "plan/apply.hpp"

namespace {

using namespace paceline;

// `nodes` machines with 8 slots, 16 to a rack if there are racks; every third slot or so is taken.
class Cluster {
 public:
  Cluster(std::int64_t nodes, bool racks) {
    for (std::int64_t n = 0; n < nodes; ++n) {
      NodeSpec spec;
      spec.name = fmt::format("n{}", n);
      if (racks) spec.rack = fmt::format("r{}", n / 16);
      spec.labels["disk"] = n % 2 == 0 ? "nvme" : "hdd";
      spec.slots.resize(8);
      for (std::size_t i = 0; i < 8; ++i) {
        spec.slots[i].model = "h100";
        spec.slots[i].island = i < 4 ? 0 : 1;
      }
      tell(NodeUp{NodeId{static_cast<std::uint32_t>(n)}, spec});
    }
    for (std::int64_t n = 0; n < nodes; ++n) occupy(n);
  }

  JobId submit(std::int32_t workers, bool constrained) {
    JobSpec spec;
    spec.name = "train";
    spec.workers = {workers, workers, workers};
    if (constrained) spec.affinity.push_back(*parse_affinity("label:disk=nvme", false));
    const JobId id = state_.next_job_id();
    tell(JobSubmitted{id, spec});
    return id;
  }

  [[nodiscard]] Snapshot snapshot() const { return {state_, state_.at()}; }

 private:
  // As a plan would, but quicker: the free slots alone matter here.
  void occupy(std::int64_t node) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      if ((static_cast<std::uint32_t>(node) * 2654435761U >> (i + 8)) % 3 == 0)
        state_.free_slots().set_free({NodeId{static_cast<std::uint32_t>(node)}, i}, false);
    }
  }

  void tell(Event event) { apply(state_, {state_.seq() + 1, Time{}, std::move(event)}); }

  State state_;
};

template <class P>
void fit(benchmark::State& bench, std::int32_t workers, bool racks, bool constrained) {
  Cluster cluster(bench.range(0), racks);
  const JobId job = cluster.submit(workers, constrained);
  const P placer;
  const Draft draft(cluster.snapshot(), placer);
  for (auto _ : bench) benchmark::DoNotOptimize(draft.fit(job, workers));
}

#define PACELINE_FIT(name, placer, workers, racks, constrained)                           \
  void name(benchmark::State& bench) { fit<placer>(bench, workers, racks, constrained); } \
  BENCHMARK(name)->Arg(1'250)->Arg(12'500)->Unit(benchmark::kMicrosecond)

PACELINE_FIT(pack_1, PackPlacer, 1, false, false);
PACELINE_FIT(pack_8, PackPlacer, 8, false, false);
PACELINE_FIT(pack_64, PackPlacer, 64, false, false);
PACELINE_FIT(pack_64_racks, PackPlacer, 64, true, false);
PACELINE_FIT(pack_8_labelled, PackPlacer, 8, true, true);
PACELINE_FIT(spread_8, SpreadPlacer, 8, false, false);
PACELINE_FIT(spread_8_racks, SpreadPlacer, 8, true, false);

}  // namespace
