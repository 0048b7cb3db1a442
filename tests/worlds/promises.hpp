// What every policy promises of every round, whatever the world: looked for after each line of a
// random world. What the plan and the state alone can tell (ranges, leases, gangs) World checks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/policy.hpp"
#include "scenario/script.hpp"

namespace paceline::testing {

struct Observed {
  bool elastic = false;     // the policy changes sizes
  bool preemptive = false;  // it stops jobs
  bool blocks = false;      // its head of line keeps others from slots that are free
  bool by_tenant = false;   // whose jobs of equal priority give way by what they lose
};

Observed what_to_expect(const PolicyInfo& info, std::string_view policy_line);

class Promises {
 public:
  Promises(const Script& script, const Observed& expected) : script_(script), expected_(expected) {}

  // Before a round: equal worlds give equal plans, explained or not, from a state that grew and from
  // one rebuilt from its parts.
  void before_round();
  // After it, with the round's lines: what it changed, and what it left.
  void after_round(const std::vector<std::string>& lines);

  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }

 private:
  [[nodiscard]] Plan decided(const State& state, bool explain) const;
  void check_plan(const Plan& plan);
  void check_sizes(const Change& change);
  void check_stop(const Plan& plan, const Change& change);
  void check_victims();
  void check_asked_in_time(const Job& giver);
  void check_loses_least(const Job& giver);
  void remember_asked();
  void check_idle();
  [[nodiscard]] bool is_changed(const Job& job) const;
  [[nodiscard]] bool sits_on_kept(const Job& job) const;
  void expect(bool holds, const std::string& what);

  const Script& script_;
  Observed expected_;
  Plan plan_;                              // of the round to come
  std::map<JobId, std::int32_t> workers_;  // before it
  struct Notice {
    Generation generation;
    Time at;
  };
  std::map<JobId, Notice> notices_;  // of jobs that are asked for their slots
  std::vector<std::string> broken_;
};

}  // namespace paceline::testing
