#include "scheduler/policies.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "plan/apply.hpp"
#include "scheduler/busy_cluster.hpp"

namespace paceline {
namespace {

constexpr int kFailuresMax = 3;  // rounds of a script: then the policy before it takes its place

tl::unexpected<Error> nothing_tried() {
  return fail(ErrorCode::conflict, "No policy is tried.",
              "Try one first: 'paceline policy try NAME'.");
}

}  // namespace

// ---- what people ask for ----

void Policies::set(PolicyChoice choice, Principal by, Done<void> done) {
  if (auto ok = check_known(choice); !ok) return done(ok);
  parts_.order(PolicySet{std::move(choice.name), std::move(choice.parameters), std::move(by)},
               std::move(choice.memo), std::move(done));
}

void Policies::load(std::string name, std::string text, Principal by, Done<void> done) {
  if (auto ok = admit_script(name, text); !ok) return done(ok);
  parts_.order(PolicyLoaded{std::move(name), std::move(text), std::move(by)}, {}, std::move(done));
}

void Policies::forget(std::string name, Principal by, Done<void> done) {
  const State& known = parts_.state;
  if (!known.scripts().contains(name)) {
    return done(fail(ErrorCode::not_found, fmt::format("No policy '{}' was loaded.", name),
                     "'paceline policy list' shows all."));
  }
  if (known.policy()->name == name) {
    return done(fail(ErrorCode::conflict, fmt::format("The policy {} is active.", name),
                     "Set another one first: 'paceline policy set NAME'."));
  }
  parts_.order(PolicyLoaded{std::move(name), {}, std::move(by)}, {}, std::move(done));
}

void Policies::try_out(PolicyChoice choice, Principal by, Done<void> done) {
  if (auto ok = check_known(choice); !ok) return done(ok);
  parts_.order(TrialBegan{std::move(choice.name), std::move(choice.parameters), std::move(by)}, {},
               std::move(done));
}

void Policies::end_trial(Principal by, Done<void> done) {
  const auto& trial = parts_.state.trial();
  if (!trial) return done(nothing_tried());
  parts_.order(TrialEnded{trial->name, std::move(by)}, {}, std::move(done));
}

// Both are one batch.
void Policies::promote(const Principal& by, Done<void> done) {
  auto choice = tried();
  if (!choice) return done(fail(choice.error()));
  if (auto ok = check_known(*choice); !ok) return done(ok);
  set(std::move(*choice), by, std::move(done));
  end_trial(by, [](const Result<void>&) {});
}

void Policies::roll_back(Principal by, Done<void> done) {
  auto choice = before();
  if (!choice) return done(fail(choice.error()));
  set(std::move(*choice), std::move(by), std::move(done));
}

Result<void> Policies::check_known(const PolicyChoice& choice) const {
  const auto made = make_policy(parts_.state, parts_.registry, choice.name, choice.parameters);
  if (!made) return fail(made.error());
  return {};
}

// Would a script of this text do, in its place among the others?
Result<void> Policies::admit_script(const std::string& name, const std::string& text) {
  const State& state = parts_.state;
  const auto& scripts = state.scripts();
  std::size_t bytes = text.size();
  for (const auto& [other, script] : scripts) bytes += other == name ? 0 : script.text.size();
  const bool many = !scripts.contains(name) && scripts.size() >= kScriptsMax;
  if (many || bytes > kScriptsBytesMax) {
    return fail(ErrorCode::too_large,
                fmt::format("{} policies of {} KiB are loaded: that is the most.", scripts.size(),
                            bytes >> 10),
                "Make room with 'paceline policy forget NAME'.");
  }
  const bool active = state.policy() && state.policy()->name == name;
  auto script =
      parts_.registry.load(name, text, active ? state.policy()->parameters : Parameters{});
  if (!script) return fail(script.error());
  if (auto plan = rehearse(**script); !plan) return fail(plan.error());
  return rehearse_busy(**script);
}

// ---- looking ahead ----

// What the policy would do now, checked and forgotten.
Result<Plan> Policies::rehearse(const Policy& policy) const {
  Draft draft({parts_.state, parts_.now()}, parts_.placer, parts_.protects);
  return decide(draft, decider(policy));
}

// An idle cluster asks little of a script.
Result<void> Policies::rehearse_busy(const Policy& policy) const {
  const auto starter = parts_.registry.make(parts_.last, {});
  if (!starter) return fail(starter.error());
  const BusyCluster busy(parts_.placer, parts_.last, **starter, parts_.now());
  Draft draft(busy.snapshot(), parts_.placer, parts_.protects);
  auto plan = decide(draft, decider(policy));
  if (plan) return {};
  plan.error().message = "On a busy cluster made up to try it: " + plan.error().message;
  return fail(plan.error());
}

// With the memory that it would begin with.
Result<Preview> Policies::preview(const PolicyChoice& choice) {
  State& state = parts_.state;
  const auto made = make_policy(state, parts_.registry, choice.name, choice.parameters);
  if (!made) return fail(made.error());
  auto memo = choice.memo;
  swap_memo(state, memo);
  auto plan = rehearse(**made);
  swap_memo(state, memo);
  if (!plan) return fail(plan.error());
  plan->policy = choice.name;
  return preview_of({state, parts_.now()}, *plan);
}

Result<PolicyChoice> Policies::tried() {
  const auto report = parts_.shadow.report();
  if (!report) return nothing_tried();
  return PolicyChoice{report->policy, report->parameters, report->memo};
}

Result<PolicyChoice> Policies::before() const {
  const auto& periods = parts_.state.periods();
  const auto same = [&](const PolicyPeriod& period) {
    return period.name == periods.back().name && period.parameters == periods.back().parameters;
  };
  const auto before = std::find_if_not(periods.rbegin(), periods.rend(), same);
  if (before == periods.rend()) {
    return fail(ErrorCode::conflict,
                fmt::format("No other policy was active before {}.", periods.back().name),
                "Choose one with 'paceline policy set NAME'.");
  }
  return PolicyChoice{before->name, before->parameters};
}

// ---- following the journal ----

// A new store gets the policy `last`; a policy that this build doesn't know gives way to it.
Result<std::optional<PolicySet>> Policies::recover() {
  for (const auto& [name, script] : parts_.state.scripts()) turn_to_page(name);
  if (const auto* active = parts_.state.policy()) {
    if (check_known({active->name, active->parameters})) {
      line_up();
      return std::nullopt;
    }
    spdlog::warn("The policy {} is not known to this build: {} takes its place.", active->name,
                 parts_.last);
  }
  if (auto known = parts_.registry.make(parts_.last, {}); !known) return fail(known.error());
  return PolicySet{parts_.last, {}};
}

bool Policies::follow(const Event& event) {
  const auto* loaded = std::get_if<PolicyLoaded>(&event);
  if (loaded) turn_to_page(loaded->name);
  if (!loaded && !std::holds_alternative<PolicySet>(event)) return false;
  line_up();
  return lineup_.has_value();
}

void Policies::line_up() {
  if (!parts_.state.policy()) return;
  lineup_.emplace(parts_.state, parts_.registry, parts_.last);
  failures_ = 0;
}

void Policies::turn_to_page(const std::string& name) {
  pages_.erase(name);
  const auto script = parts_.state.scripts().find(name);
  if (script == parts_.state.scripts().end()) return;
  if (const auto loaded = parts_.registry.load(name, script->second.text, {}))
    pages_.insert_or_assign(name, (*loaded)->page());
  else
    spdlog::warn("{} {}", loaded.error().message, loaded.error().hint);
}

std::optional<PolicySet> Policies::successor(const Lineup::Decision& decision) const {
  if (decision.failures.empty() || failures_ + 1 < kFailuresMax) return std::nullopt;
  spdlog::error(
      "The policy {} failed {} rounds and changed nothing in between: {} takes its place.",
      parts_.state.policy()->name, failures_ + 1, decision.by->name);
  return PolicySet{decision.by->name, decision.by->parameters};
}

void Policies::count(const Lineup::Decision& decision, std::span<const Change> changes) {
  if (!decision.failures.empty())
    ++failures_;
  else if (!changes.empty())
    failures_ = 0;
}

}  // namespace paceline
