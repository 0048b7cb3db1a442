#include "plan/apply.hpp"

#include <utility>

#include "base/check.hpp"
#include "plan/check.hpp"
#include "plan/fold.hpp"

namespace paceline {

std::vector<JobId> apply(State& state, const Entry& entry) {
  check(entry.seq == state.seq() + 1, "entries are folded in order, without gaps");
  Fold fold(state, entry.at);
  fold.pass_time();
  if (entry.began) fold.on(*entry.began);
  if (!fold.passes_over(entry.body))
    std::visit([&](const auto& body) { fold.on(body); }, entry.body);
  fold.finish(entry.seq);
  return fold.take_touched();
}

void swap_memo(State& state, std::map<std::string, std::string>& memo) {
  Fold(state, state.at()).memo().swap(memo);
}

void set_service_from(State& state, JobId job, double slot_seconds) {
  Fold fold(state, state.at());
  fold.set_service_from(job, slot_seconds);
  fold.finish(state.seq());
}

State::State(StateParts parts) : parts_(std::move(parts)) {
  Fold(*this, parts_.at).build_indexes();
}

void Fold::on(const Began& began) {
  const std::uint32_t before = std::exchange(parts_.fold_rules, began.rules);
  if (before < 3 && !by_rules_before(3)) start_those_that_wait_for_copies();
  if (before >= 6 || by_rules_before(6)) return;
  for (const Node& node : parts_.nodes)
    if (!node.up) give_back_what_waits_for(node);
}

void Fold::start_those_that_wait_for_copies() {
  std::vector<JobId> waiting;
  for (const auto& key : state_.active())
    if (const Job& job = state_.job(key.job); job.forming && !job.current)
      waiting.push_back(job.id);
  for (const JobId id : waiting) try_switch(touch(id));
}

// The round was held, whatever became of it.
bool Fold::passes_over(const std::variant<Event, Plan>& body) {
  state_.misfit_.clear();
  const auto* plan = std::get_if<Plan>(&body);
  if (!plan || parts_.fold_rules == kFoldRules) return false;
  const auto wrong = violations({state_, at_}, *plan);
  if (wrong.empty()) return false;
  state_.misfit_ = wrong.front();
  parts_.round = plan->round;
  return true;
}

void Fold::pass_time() {
  if (at_ < parts_.at) at_ = parts_.at;
  if (!parts_.periods.empty()) state_.add_use(parts_.periods.back(), at_);
  parts_.at = at_;
}

void Fold::finish(std::uint64_t seq) {
  for (std::size_t i = 0; i < ended_.size(); ++i) release_dependants(state_.job(ended_[i]));
  parts_.seq = seq;
  for (const JobId id : touched_) reindex(state_.job(id));
}

void Fold::on(const Event& event) {
  std::visit([&](const auto& e) { on(e); }, event);
}

}  // namespace paceline
