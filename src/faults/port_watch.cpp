#include "faults/port_watch.hpp"

#include <fmt/format.h>

#include "faults/worker_text.hpp"

namespace paceline::faults {
namespace {

// Of runs that chance draws from a handful, one may be drawn again, but not so often.
constexpr int kSameInARowMax = 12;

}  // namespace

void PortWatch::given(const NodeSpec& node, const WorkerLaunch& launch, const PortRange& ports) {
  const ProcessKey& worker = launch.key;
  const std::string& machine = node.machine.empty() ? node.name : node.machine;
  if (ports.first == ports.end) return;
  const PortRange range = node.ports.value_or(kUsualPorts);
  if (common(ports, range) != ports)
    wrong_(fmt::format("{} has ports {} to {}, which are not its machine's", text(worker),
                       ports.first, ports.end - 1));
  for (const auto& [other, holding] : held_) {
    const PortRange both = common(ports, holding.ports);
    const bool same_gang = other.job == worker.job && other.born == worker.born;
    if (!same_gang && holding.machine == machine && both.first < both.end)
      wrong_(fmt::format("{} has port {} of {}, which {} has", text(worker), both.first, machine,
                         text(other)));
  }
  held_[worker] = {machine, ports};
  if (launch.group_world_size == 1) return;
  const auto at = common_.emplace(Gang{worker.job, worker.born}, ports.first).first;
  if (at->second != ports.first)
    wrong_(fmt::format("{} has port {}, and others of its gang {}", text(worker), ports.first,
                       at->second));
}

void PortWatch::taken(const WorkerLaunch& launch) {
  Refusals& mine = refused_[launch.key.job];
  if (mine.generation == launch.key.born) return;
  mine.in_a_row = mine.port == launch.port ? mine.in_a_row + 1 : 1;
  mine.generation = launch.key.born;
  mine.port = launch.port;
  if (mine.in_a_row > kSameInARowMax)
    wrong_(fmt::format("job {} is tried with port {} again and again, which is taken",
                       launch.key.job.value, launch.port));
}

void PortWatch::ended(const ProcessKey& worker) { held_.erase(worker); }

}  // namespace paceline::faults
