#include "faults/copy_watch.hpp"

#include <fmt/format.h>

#include "faults/worker_text.hpp"

namespace paceline::faults {

void CopyWatch::planned(const State& state, const Job& job, const Change& change) {
  if (change.kind != ChangeKind::start || !job.checkpoint || !job.checkpoint->place) return;
  starts_[{job.id, change.generation}] = *job.checkpoint->place;
  for (const Seat& seat : change.placement) {
    const Node* node = state.find_node(seat.node);
    if (node == nullptr || !job.checkpoint->is_missing_on(node->spec.name)) continue;
    return wrong_(fmt::format("job {} is to start on {}, and its newest checkpoint is on {} alone",
                              job.id.value, node->spec.name, job.checkpoint->place->node));
  }
}

void CopyWatch::kept(const CheckpointKept& event) {
  if (event.keeping == Keeping::kept) ships_[event.job].insert(event.checkpoint.place->ship);
}

void CopyWatch::saved(const CheckpointAcknowledged& event) {
  starts_.erase({event.job, event.generation});
}

void CopyWatch::launched(const std::string& node, const WorkerLaunch& launch) {
  if (launch.copy && !ships_[launch.key.job].contains(launch.copy->ship))
    wrong_(text(launch.key) + " is told of a copy of its checkpoint that nobody sent");
  const auto start = starts_.find({launch.key.job, launch.key.born});
  if (start == starts_.end() || launch.joins || launch.copy || start->second.node == node) return;
  wrong_(fmt::format("{} starts on {}, and is told of no copy of the checkpoint that {} wrote",
                     text(launch.key), node, start->second.node));
}

}  // namespace paceline::faults
