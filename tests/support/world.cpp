#include "support/world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <utility>

#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "policy/registry.hpp"

namespace paceline::testing {
namespace {

void expect_none(const std::vector<std::string>& found, std::string_view what) {
  if (!found.empty()) throw std::logic_error(fmt::format("{}: {}", what, fmt::join(found, "; ")));
}

NodeId node_named(const State& state, std::string_view name) {
  const Node* node = state.find_node(name);
  if (!node) throw std::invalid_argument(fmt::format("there is no node '{}'", name));
  return node->id;
}

Placement seats(std::optional<Placement> found) {
  if (!found) throw std::invalid_argument("the seats don't fit");
  return std::move(*found);
}

}  // namespace

World::World(std::string_view cluster_text, std::string_view policy) {
  fold_by(kFoldRules);
  std::uint32_t next = 0;
  for (const auto& spec : cluster(cluster_text)) tell(NodeUp{NodeId{next++}, spec});
  set_policy(policy);
}

void World::fold(std::variant<Event, Plan> body) {
  journal_.push_back({state_.seq() + 1, now_, std::move(body), std::exchange(began_, {})});
  touched_ = apply(state_, journal_.back());
  expect_none(check_state(state_), "the state is wrong");
}

void World::fold_by(std::uint32_t rules) { began_.emplace().rules = rules; }

JobId World::submit(std::string_view literal) {
  const JobId id = state_.next_job_id();
  tell(JobSubmitted{id, testing::job(literal)});
  return id;
}

void World::resize(JobId id, std::string_view range) {
  const auto parsed = parse_range(range);
  if (!parsed) throw std::invalid_argument(parsed.error().message);
  tell(RangeSet{id, *parsed});
}

const Gang& World::gang(JobId id) const {
  const Job& job = state_.job(id);
  if (!job.current) throw std::invalid_argument(fmt::format("job {} has no gang", id.value));
  return *job.current;
}

void World::started(JobId id) {
  for (std::int32_t rank = 0; rank < gang(id).size(); ++rank) started(id, rank);
}

void World::started(JobId id, std::int32_t rank) {
  tell(WorkerStarted{gang(id).process(id, rank), 4000 + rank});
}

std::vector<ProcessKey> World::alive(JobId id) const {
  std::vector<ProcessKey> alive;
  for (std::int32_t rank = 0; rank < gang(id).size(); ++rank) {
    if (gang(id).workers[static_cast<std::size_t>(rank)].state != WorkerState::ended)
      alive.push_back(gang(id).process(id, rank));
  }
  return alive;
}

void World::ended(JobId id, const Ending& how) {
  for (const auto& process : alive(id)) ended(process, how);
}

void World::ended(JobId id, std::int32_t rank, const Ending& how) {
  ended(gang(id).process(id, rank), how);
}

void World::ended(const ProcessKey& process, Ending how) {
  how.at = now_;
  tell(WorkerEnded{process, std::move(how)});
}

void World::killed(JobId id) {
  const Ending how = told_to_stop(id);
  for (const auto& process : alive(id)) ended(process, how);
}

void World::killed(JobId id, std::int32_t rank) { ended(id, rank, told_to_stop(id)); }

Ending World::told_to_stop(JobId id) const {
  if (!gang(id).stop)
    throw std::invalid_argument(fmt::format("job {} was not told to stop", id.value));
  Ending how = testing::ending("signal 9");
  how.cause = gang(id).stop->cause;
  return how;
}

void World::checkpoint(JobId id) {
  const auto at = fmt::format("/ckpt/{}/{}", id.value, state_.seq());
  tell(CheckpointAcknowledged{id, gang(id).generation, {at, {}, {}, now_}});
}

void World::report(JobId id, const Progress& progress) {
  Progress report = progress;
  report.reported_at = now_;
  tell(Progressed{id, gang(id).generation, report});
}

void World::stands(JobId id) { tell(GangStands{id, gang(id).generation}); }

void World::node_up(std::string_view name) {
  const NodeId id = node_named(state_, name);
  NodeSpec spec = state_.find_node(id)->spec;
  spec.refusal.reset();
  tell(NodeUp{id, spec});
}

void World::node_refuses(std::string_view name, const Refusal& refusal) {
  const NodeId id = node_named(state_, name);
  NodeSpec spec = state_.find_node(id)->spec;
  spec.refusal = refusal;
  tell(NodeUp{id, spec});
}

void World::node_down(std::string_view name) { tell(NodeDown{node_named(state_, name)}); }

void World::node_retired(std::string_view name) { tell(NodesRetired{{node_named(state_, name)}}); }

void World::node_lost(std::string_view name) {
  const NodeId id = node_named(state_, name);
  node_down(name);
  std::vector<ProcessKey> lost;
  for (const auto& slot : state_.find_node(id)->slots) {
    if (slot.lease) lost.push_back(slot.lease->worker);
    if (slot.lent) lost.push_back(*slot.lent);
  }
  for (const auto& key : lost)
    tell(WorkerEnded{key, {Cause::node_lost, {}, 0, "its node is lost", now_}});
}

Plan World::plan(const Decide& decide, Protects protects) const {
  Draft draft(snapshot(), placer_ ? *placer_ : pack_, protects);
  const auto plan = paceline::decide(draft, [&](const Snapshot& present, Draft& into) {
    decide(present, into);
    return Result<void>{};
  });
  if (!plan) throw std::logic_error(plan.error().message);
  Plan made = *plan;
  made.policy = state_.policy()->name;
  return made;
}

Plan World::round(const Decide& decide, Protects protects) {
  Plan made = plan(decide, protects);
  if (!made.changes.empty() || !made.memo.empty() || !made.asked.empty()) fold(made);
  return made;
}

Plan World::round(Protects protects) {
  const auto policy = PolicyRegistry().make(state_.policy()->name, state_.policy()->parameters);
  if (!policy) throw std::invalid_argument(policy.error().message);
  return round([&](const Snapshot& s, Draft& d) { (*policy)->decide(s, d); }, protects);
}

Plan World::start(JobId id, std::int32_t workers) {
  return round([&](const Snapshot&, Draft& draft) {
    draft.start(id, seats(draft.fit(id, workers)), {ReasonCode::starts, {workers}, {}});
  });
}

Plan World::change_size(JobId id, std::int32_t workers) {
  return round([&](const Snapshot&, Draft& draft) {
    draft.resize(id, seats(draft.refit(id, workers)),
                 {ReasonCode::grows, {job(id).workers(), workers}, {}});
  });
}

Plan World::resize_in_place(JobId id, const Placement& seats,
                            const std::vector<Survivor>& survivors) {
  if (!gang(id).in_place) stands(id);
  Plan made{state_.round() + 1, state_.policy()->name, "", {}, {}, {}, {}};
  Change change;
  change.kind = ChangeKind::resize;
  change.job = id;
  change.generation = Generation{job(id).last_generation.value + 1};
  change.placement = seats;
  change.reason = {ReasonCode::grows, {job(id).workers(), std::ssize(seats)}, {}};
  change.survivors = survivors;
  made.changes.push_back(change);
  for (const auto& wrong : violations(snapshot(), made)) throw std::invalid_argument(wrong);
  fold(made);
  return made;
}

Plan World::preempt(JobId giver, JobId beneficiary, std::int32_t workers) {
  return make_way(beneficiary, workers, [&](Draft& draft) {
    draft.stop(giver, {ReasonCode::stops_for, {beneficiary.value}, {}}, beneficiary);
  });
}

Plan World::lend(JobId giver, JobId beneficiary, std::int32_t workers) {
  return make_way(beneficiary, workers, [&](Draft& draft) {
    draft.pause(giver, {ReasonCode::pauses_for, {beneficiary.value}, {}}, beneficiary);
  });
}

Plan World::make_way(JobId beneficiary, std::int32_t workers,
                     const std::function<void(Draft&)>& give_up) {
  return round([&](const Snapshot&, Draft& draft) {
    draft.begin_trade();
    give_up(draft);
    draft.start(beneficiary, seats(draft.fit(beneficiary, workers)),
                {ReasonCode::starts, {workers}, {}});
    draft.end_trade();
  });
}

JobId World::run(std::string_view literal, std::int32_t workers) {
  const JobId id = submit(literal);
  start(id, workers);
  started(id);
  return id;
}

}  // namespace paceline::testing
