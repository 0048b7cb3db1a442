// A policy decides which jobs run, with how many workers: equal snapshots give equal plans. It has
// no clock (`now` is in the snapshot), no chance and no memory but the journalled memo, and builds
// its plan through Draft alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/state.hpp"
#include "plan/decide.hpp"

namespace paceline {

class Patience;

using Parameters = std::map<std::string, std::string>;

// What needs no round under a policy.
struct Quiet {
  // True if a round that follows only what the last plan asked for would change nothing. A gang that
  // came up makes no round either, unless the draft awaits its start, or its owner or its node calls
  // it away: then there is one when that gang may be changed.
  bool as_planned = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void decide(const Snapshot& snapshot, Draft& draft) const = 0;
  [[nodiscard]] virtual Quiet quiet() const { return {}; }
  // True: no job starts that is behind a waiting one in line, so that none is passed over.
  [[nodiscard]] virtual bool keeps_line() const { return false; }
  // Under it waiting jobs have this much patience (policy/patient.hpp); nullptr: none.
  [[nodiscard]] virtual const Patience* patience() const { return nullptr; }
  // What jobs under it may lose to being disturbed, where they don't say.
  [[nodiscard]] virtual const LossLimits& loss_limits() const { return loss_limits_; }
  void limit_losses(const LossLimits& limits) { loss_limits_ = limits; }
  // For policies that can fail, as people's own can: decides, or leaves the draft as it was and
  // says why. Called where another policy can decide the round instead.
  [[nodiscard]] virtual Result<void> try_decide(const Snapshot& snapshot, Draft& draft) const {
    decide(snapshot, draft);
    return {};
  }

 private:
  LossLimits loss_limits_;
};

// REQUIRES: the policy outlives it.
inline Decider decider(const Policy& policy) {
  return [&policy](const Snapshot& snapshot, Draft& draft) {
    draft.limit_losses(policy.loss_limits());
    return policy.try_decide(snapshot, draft);
  };
}

// What each policy says of itself to the registry.
struct PolicyInfo {
  std::string_view name = {};
  std::string_view summary = {};  // one sentence
  std::string_view text = {};     // the head of its header (pages.hpp): what `policy show` prints
  bool elastic = false;           // changes sizes of running jobs by itself
  Parameters defaults = {};       // every parameter it takes
  Result<std::unique_ptr<Policy>> (*make)(const Parameters& parameters) =
      nullptr;            // all defaults filled in
  bool preempts = false;  // stops running jobs for others
};

// Makes a policy without parameters of its own.
template <class P>
Result<std::unique_ptr<Policy>> make_plain(const Parameters& /*parameters*/) {
  return std::make_unique<P>();
}

}  // namespace paceline
