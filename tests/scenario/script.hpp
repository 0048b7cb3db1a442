// A world driven by lines of text: the language of tests/scenario/*.txt and of the worlds that
// chance makes up.
//
//   cluster 4x8 h100; 1x4 cpu          nodes h100-0 … h100-3, cpu-0
//   policy elastic-fifo [KEY=VALUE …] [unprotected]
//   placement spread                   pack if nothing is said
//   reclaim-after SPAN                 0s if nothing is said
//   submit 2..8@4 priority=60 …        the next job; keys as in support/literals.hpp
//   cancel JOB    pause JOB    resume JOB    resize JOB RANGE
//   advance SPAN                       10s, 5m
//   round                              one round of the active policy
//   obey                               workers start where their gang's seats are leased, and
//                                      end where it was told to stop; newcomers get ready, and
//                                      a gang that went on in place stands, or starts anew if it
//                                      waited for others in place of the dead for too long
//   calm                               round and obey in turns until nothing changes
//   started JOB [RANK]
//   ended JOB [RANK] [HOW]             an exit code, `signal 9`, or a cause; 0 if left out
//   checkpoint JOB    report JOB metric=VALUE …    expire JOB
//   stands JOB                         from here on it is resized in place
//   down NODE    up NODE    lost NODE    retire NODE
//   refuse NODE SPAN WHY…: it starts nothing until it is up again
//   show JOB    why JOB    jobs
//
// A line says what it brought about in lines of its own: the changes of a plan with their reasons,
// then why each job that still waits does so; what is refused, and why; a job's state. Everything
// goes through the scheduler's own admission, decision, check and explanation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"
#include "support/world.hpp"

namespace paceline::testing {

class Script {
 public:
  // The answer to one line. Throws std::invalid_argument for a line that can't be read,
  // std::logic_error where the world broke a rule that always holds.
  std::vector<std::string> run(std::string_view line);

  // REQUIRES: the line `cluster` was run.
  [[nodiscard]] World& world();
  [[nodiscard]] const World& world() const { return *world_; }
  // REQUIRES: the line `policy` was run.
  [[nodiscard]] const Policy& policy() const { return *policy_; }
  [[nodiscard]] Protects protects() const { return protects_; }
  [[nodiscard]] const Placer& placer() const { return *placer_; }

 private:
  using Words = std::vector<std::string>;

  std::vector<std::string> people(const Words& words, std::string_view rest);
  std::vector<std::string> workers(const Words& words);
  std::vector<std::string> nodes(const Words& words);
  std::vector<std::string> shown(const Words& words);
  void set_policy(const Words& words);
  void set_placement(const Words& words);
  std::vector<std::string> submit(std::string_view literal);
  std::vector<std::string> round();
  std::vector<std::string> calm();
  bool obey();
  void obey(JobId job);
  std::vector<std::string> plan_lines(const Plan& plan);
  std::string where(const Placement& placement) const;
  std::string line_of(JobId job);
  [[nodiscard]] JobId job_named(const std::string& word) const;

  std::unique_ptr<World> world_;
  std::unique_ptr<Policy> policy_;
  Protects protects_ = Protects::yes;
  std::unique_ptr<Placer> placer_ = std::make_unique<PackPlacer>();
};

}  // namespace paceline::testing
