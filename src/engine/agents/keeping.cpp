// Checkpoints that lie on one node alone: asked for, and what became of them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/agents/agents_engine.hpp"

namespace paceline {
namespace {

constexpr std::size_t kOnTheirWayMax = 4;  // of a job
constexpr std::string_view kCopyIsLost = "the server's copy of it is lost";

bool is_alone(const State& state) {
  return std::ranges::count_if(state.nodes(), [](const Node& node) { return !node.retired; }) < 2;
}

// What its node is to send; nullptr: nothing. `again`: what it couldn't send before, too.
const Checkpoint* missing_checkpoint(const State& state, JobId id, bool again) {
  const Job* job = state.find_job(id);
  if (job == nullptr || is_over(job->state) || !job->checkpoint || !job->checkpoint->place)
    return nullptr;
  const auto& place = *job->checkpoint->place;
  return place.ship.empty() && (again || place.unkept.empty()) ? &*job->checkpoint : nullptr;
}

// Nobody sends what lies there.
bool is_gone(const State& state, const std::string& name) {
  const Node* node = state.find_node(name);
  return node == nullptr || node->retired || !node->off_by.empty();
}

}  // namespace

void AgentsEngine::want_checkpoints(const State& state, std::span<const JobId> jobs, bool first) {
  for (const JobId job : jobs) want_checkpoint(state, job, false);
  if (first) {  // what was too large may be no more
    for (const auto& key : state.queue()) {
      miss_copies(state, state.job(key.job));
      want_checkpoint(state, key.job, true);
    }
  }
  const bool fewer = std::exchange(alone_, is_alone(state)) && !alone_;
  if (!fewer) return;
  for (NodeView& node : nodes_) ask_for_checkpoints(node);
}

void AgentsEngine::want_checkpoint(const State& state, JobId job, bool again) {
  const Job* known = state.find_job(job);
  if (known == nullptr || is_over(known->state)) return static_cast<void>(wanted_.erase(job));
  if (const Checkpoint* missing = missing_checkpoint(state, job, again)) want(*known, *missing);
}

void AgentsEngine::want(const Job& job, const Checkpoint& missing) {
  auto& wanted = wanted_[job.id];
  if (!wanted.empty() && wanted.back().checkpoint.place->is_of(*missing.place)) return;
  std::erase_if(wanted, [](const Wanted& each) { return !each.asked; });
  if (wanted.size() == kOnTheirWayMax) wanted.pop_front();
  const auto node = names_.find(missing.place->node);
  if (node == names_.end()) return;
  wanted.push_back({node->second, missing, job.spec});
  ask_for_checkpoints(nodes_[node->second.value]);
}

// A server that was made of a backup has none. The node where the newest lies may send it once more.
void AgentsEngine::miss_copies(const State& state, const Job& job) {
  for (const auto* each : {&job.kept, &job.checkpoint}) {
    const bool copied = *each && (*each)->place && !(*each)->place->ship.empty();
    if (!copied || !options_.has_copy || options_.has_copy(job.spec->uid, (*each)->place->ship))
      continue;
    Checkpoint missing = **each;
    missing.place->ship.clear();
    missing.place->unkept = kCopyIsLost;
    const bool gone = is_gone(state, missing.place->node);
    tell(CheckpointKept{job.id, missing, gone ? Keeping::lost : Keeping::unkept});
    if (each == &job.checkpoint && !gone) want(job, missing);
  }
}

void AgentsEngine::ask_for_checkpoints(NodeView& node) {
  if (alone_ || !node.session || !node.spec.keeps) return;
  bool any = false;
  for (auto& [job, wanted] : wanted_) {
    if (wanted.empty() || wanted.back().node != node.id) continue;
    Wanted& newest = wanted.back();
    if (std::exchange(newest.asked, true)) continue;
    const auto& place = *newest.checkpoint.place;
    node.outbox.push(KeepCheckpoint{
        {place.by, place.report, newest.checkpoint.path, newest.spec->user, newest.spec->uid}});
    any = true;
  }
  if (any) flush(node);
}

const AgentsEngine::Wanted* AgentsEngine::find_wanted(std::string_view node, const ProcessKey& by,
                                                      std::uint64_t report) const {
  const auto found = wanted_.find(by.job);
  if (found == wanted_.end()) return nullptr;
  const auto each = std::ranges::find_if(found->second, [&](const Wanted& wanted) {
    const auto& place = *wanted.checkpoint.place;
    return place.by == by && place.report == report && place.node == node;
  });
  return each == found->second.end() ? nullptr : &*each;
}

bool AgentsEngine::wants(std::string_view node, const ProcessKey& by, std::uint64_t report) const {
  return find_wanted(node, by, report) != nullptr;
}

// Those before it are of no use any more.
Result<void> AgentsEngine::take_kept(std::string_view node, const KeptCheckpoint& kept) {
  const Wanted* found = find_wanted(node, kept.by, kept.report);
  if (found == nullptr)
    return fail(ErrorCode::conflict,
                fmt::format("No checkpoint of job {} is asked of {}.", kept.by.job.value, node));
  Checkpoint checkpoint = found->checkpoint;
  const bool is_known = kept.keeping == Keeping::unkept && checkpoint.place->unkept == kept.text;
  checkpoint.place->ship = kept.keeping == Keeping::kept ? kept.text : "";
  checkpoint.place->unkept = kept.keeping == Keeping::unkept ? kept.text : "";
  auto& wanted = wanted_.at(kept.by.job);
  while (&wanted.front() != found) wanted.pop_front();
  wanted.pop_front();
  if (!is_known) tell(CheckpointKept{kept.by.job, std::move(checkpoint), kept.keeping});
  return {};
}

// Their machine is gone for good as far as anybody knows.
void AgentsEngine::lose_checkpoints(const NodeView& node) {
  for (auto& [job, wanted] : wanted_) {
    if (wanted.empty() || wanted.back().node != node.id) continue;
    tell(CheckpointKept{job, wanted.back().checkpoint, Keeping::lost});
    wanted.clear();
  }
}

}  // namespace paceline
