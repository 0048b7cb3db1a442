// fair
// Objective:   weighted max-min over tenants: no share can grow without shrinking that of a
//              tenant that has less for its weight.
// Rule:        again and again the tenant with the fewest slots for its weight gets the smallest
//              size of its next job, until nothing more fits; then one step at a time for its jobs
//              by the same rule. A tenant's own order is priority, then running jobs, the one that
//              would lose most first, then arrival. What a tenant doesn't use is lent to the others.
//              When it comes back its slots are reclaimed from tenants that have more than their
//              share: jobs that lose least (policy/harm.hpp) shrink, then are stopped. Of tenants
//              that have equally little, the one whose next job would lose most keeps it.
// Parameters:  weights=ann:2,bob:0.5 (others 1).
// Assumptions: a tenant is a user. A stopped job goes on from its checkpoint.
// Cost:        O(jobs · log jobs + slots · log tenants) a round.
// Source:      max-min fairness by progressive filling; lending and reclaim as in Peloton's pools
//              (2018), which takes them between pools alone.
// Needs:       nothing.
#pragma once

#include <map>
#include <string>

#include "policy/policy.hpp"

namespace paceline {

class Fair : public Policy {
 public:
  explicit Fair(std::map<std::string, double> weights) : weights_(std::move(weights)) {}
  static PolicyInfo info();
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;

 private:
  std::map<std::string, double> weights_;
};

}  // namespace paceline
