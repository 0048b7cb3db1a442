// The fold: apply(state, entry) is the only thing that changes state. Recovery, replay, audit and
// what-if runs are this same function, so the same entries give the same state.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

// Folds one entry in. Returns the jobs it touched, in id order without repeats: the engine acts on
// them again and clients that watch them are told. REQUIRES: entry.seq == state.seq() + 1; a plan
// without violations. Facts that no longer matter (a worker of an over generation, a job that is
// over) change nothing. A plan of a server that wrote by other rules than these (Began::rules) may
// not fit the state that these make: then it is passed over, and state.misfit() says why.
std::vector<JobId> apply(State& state, const Entry& entry);

// For a candidate policy that remembers other things than the journal: exchanges what the state
// remembers for the active policy, and changes nothing else. The caller swaps back.
void swap_memo(State& state, std::map<std::string, std::string>& memo);

// For a candidate policy under which other jobs count their service anew than in the journal: from
// where the job's service counts (Job::service_from), and nothing else. REQUIRES: the job exists.
void set_service_from(State& state, JobId job, double slot_seconds);

// ---- the lifecycle's numbers ----
inline constexpr Duration kBackoffFirst = std::chrono::seconds{1};  // doubles with every retry
inline constexpr Duration kBackoffMax = std::chrono::minutes{5};
inline constexpr Duration kRefusedBackoffMax = std::chrono::minutes{1};  // where machines refuse
inline constexpr Duration kQuickFailure =
    std::chrono::seconds{30};                // a run shorter than this, without progress, is quick
inline constexpr int kQuickFailuresMax = 5;  // in a row: a crash loop
inline constexpr int kJoinsFailedMax = 3;    // in a row: then a job is resized by restart
inline constexpr Duration kGangFailureGrace =
    std::chrono::seconds{5};  // for the survivors of a failed gang

}  // namespace paceline
