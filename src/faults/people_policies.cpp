// How people meddle with policies.
#include <array>

#include "faults/people.hpp"
#include "policy/patient.hpp"

namespace paceline::faults {
namespace {

constexpr const char* kMine = "mine";  // what they bring is always named so: reloading replaces

}  // namespace

void People::meddle_with_policies() {
  switch (rng_.below(10)) {
    case 0:
    case 1:
      if (habits_.scripts.empty()) return;
      return server_->desk().load(kMine, habits_.scripts[rng_.below(habits_.scripts.size())],
                                  account(kPeople), deed("script loaded"));
    case 2:
      return server_->desk().forget(kMine, account(kPeople), deed("script forgotten"));
    case 3: {
      Choice tried = draw_policy();
      return server_->desk().try_out({tried.name, tried.parameters}, account(kPeople),
                                     deed("policy tried"));
    }
    case 4:
      return server_->desk().promote(account(kPeople), deed("policy promoted"));
    case 5:
      return server_->desk().roll_back(account(kPeople), deed("policy rolled back"));
    case 6:
      return server_->desk().end_trial(account(kPeople), deed("trial ended"));
    default: {
      Choice choice = draw_policy();
      return server_->desk().set({choice.name, choice.parameters}, account(kPeople),
                                 deed("policy set"));
    }
  }
}

// Short thresholds, as the jobs here are short.
People::Choice People::draw_policy() {
  const auto built_in = server_->policies().all();
  const auto drawn = rng_.below(built_in.size() + 2);
  Choice choice;
  if (!habits_.patience.empty()) choice.parameters[std::string(kPatienceWord)] = habits_.patience;
  choice.name = drawn < built_in.size() ? built_in[drawn].name : kMine;
  if (choice.name == kMine) return choice;
  if (built_in[drawn].defaults.contains("threshold")) choice.parameters["threshold"] = "30";
  if (choice.name == "fifo" && rng_.chance(0.5)) choice.parameters["backfill"] = "greedy";
  return choice;
}

void People::keep_to_one_policy() {
  const auto built_in = server_->policies().all();
  if (last_policy_.empty()) last_policy_ = built_in[rng_.below(built_in.size())].name;
  const auto* active = server_->state().policy();
  if (active && active->name == last_policy_) return;
  server_->desk().set({last_policy_, {}}, {}, [](const Result<void>&) {});
}

}  // namespace paceline::faults
