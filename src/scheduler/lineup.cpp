#include "scheduler/lineup.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace paceline {

Result<std::unique_ptr<Policy>> make_policy(const State& state, const PolicyRegistry& registry,
                                            std::string_view name, const Parameters& parameters) {
  const auto script = state.scripts().find(std::string(name));
  if (script == state.scripts().end()) return registry.make(name, parameters);
  return registry.load_patient(name, script->second.text, parameters);
}

Lineup::Lineup(const State& state, const PolicyRegistry& registry, std::string_view last) {
  const auto& periods = state.periods();
  check(!periods.empty(), "a policy is active");
  for (auto period = periods.rbegin(); period != periods.rend(); ++period) {
    const auto script = state.scripts().find(period->name);
    const bool own = script != state.scripts().end();
    if (own && !members_.empty() && !script->second.failure.empty()) continue;
    if (add(state, registry, period->name, period->parameters) && !own) return;
  }
  add(state, registry, last, {});
}

bool Lineup::add(const State& state, const PolicyRegistry& registry, std::string_view name,
                 const Parameters& parameters) {
  const bool known = std::any_of(members_.begin(), members_.end(),
                                 [&](const Member& member) { return member.name == name; });
  if (known) return false;
  auto made = make_policy(state, registry, name, parameters);
  if (made) members_.push_back({std::string(name), parameters, std::move(*made)});
  return made.has_value();
}

Lineup::Decision Lineup::choose(const Snapshot& snapshot, Draft& draft) const {
  Decision decision;
  for (const Member& member : members_) {
    decision.by = &member;
    draft.limit_losses(member.policy->loss_limits());
    const auto decided = member.policy->try_decide(snapshot, draft);
    if (decided) return decision;
    decision.failures.push_back({member.name, decided.error()});
  }
  check(false, "the last of a lineup is built in, and those can't fail");
  return decision;
}

void Lineup::decide(const Snapshot& snapshot, Draft& draft) const { (void)choose(snapshot, draft); }

}  // namespace paceline
