// The active policy and, behind it, those that were active before. They decide a round that a
// user's own policy can't.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"
#include "policy/registry.hpp"

namespace paceline {

// The policy of that name, people's own or built in. Errors: as of PolicyRegistry::make and load.
Result<std::unique_ptr<Policy>> make_policy(const State& state, const PolicyRegistry& registry,
                                            std::string_view name, const Parameters& parameters);

class Lineup : public Policy {
 public:
  struct Member {
    std::string name;
    Parameters parameters;
    std::unique_ptr<Policy> policy;
  };
  struct Failure {
    std::string name;
    Error error;
  };
  struct Decision {
    const Member* by = nullptr;
    std::vector<Failure> failures;  // of those before it
  };

  // First the active policy, then those before it, the newest first, down to a built-in one, for
  // which `last` stands where there never was any. Scripts that failed since they were loaded are
  // passed over, except for the active one. REQUIRES: there is an active policy; `last` is built
  // in.
  Lineup(const State& state, const PolicyRegistry& registry, std::string_view last);

  // The first that can decides.
  Decision choose(const Snapshot& snapshot, Draft& draft) const;
  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return members_.front().policy->quiet(); }
  [[nodiscard]] const LossLimits& loss_limits() const override {
    return members_.front().policy->loss_limits();
  }
  [[nodiscard]] const Patience* patience() const override {
    return members_.front().policy->patience();
  }

 private:
  bool add(const State& state, const PolicyRegistry& registry, std::string_view name,
           const Parameters& parameters);

  std::vector<Member> members_;
};

}  // namespace paceline
