// A busy cluster that exists nowhere, for a policy to be tried on: two nodes of different devices, and
// jobs of three users that run, wait, are paused, saved or never did, report or never did, with
// lengths, targets and deadlines or without. What a script gets wrong only under load is found before it
// decides anything.
//
//   const auto starter = registry.make("elastic-fifo", {});
//   const BusyCluster busy(placer, "elastic-fifo", **starter, clock.now());
//   Draft draft(busy.snapshot(), placer, Protects::yes);
//   decide(draft, decider(policy))
//
// It is the same each time, but for the time.
#pragma once

#include <string_view>

#include "model/event.hpp"
#include "model/state.hpp"
#include "plan/draft.hpp"
#include "plan/plan.hpp"
#include "policy/policy.hpp"

namespace paceline {

class BusyCluster {
 public:
  // As it is `now`. `policy`, called `name`, has started the jobs that run: one that is built in.
  BusyCluster(const Placer& placer, std::string_view name, const Policy& policy, Time now);

  [[nodiscard]] Snapshot snapshot() const { return {state_, now_}; }

 private:
  void add_node(std::string_view name, std::string_view model);
  JobId submit(std::string_view user, WorkerRange workers);
  [[nodiscard]] Plan plan_starts(const Placer& placer, const Policy& policy) const;
  void start_jobs(const Placer& placer, const Policy& policy);
  void begin_workers(JobId job);
  void report(JobId job, std::uint64_t step);
  void tell(Event event);

  State state_;
  Time now_;
};

}  // namespace paceline
