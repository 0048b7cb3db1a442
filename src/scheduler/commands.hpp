// What a command is allowed to do in the present state, as the event it becomes or the sentence
// that refuses it. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/event.hpp"
#include "model/launch.hpp"
#include "model/state.hpp"
#include "scheduler/room.hpp"

namespace paceline {

// Called once what a command did is durable, or at once with an error.
template <class T>
using Done = std::function<void(Result<T>)>;

// `next`: the id the job would get. Errors: invalid, not_found (a job named by `after`), too_large,
// unavailable (no node yet).
Result<void> admit(const State& state, const JobSpec& spec, const LaunchSpec& launch, JobId next,
                   WallTime now, const ComingNodes& coming = {});

// Errors: invalid.
Result<void> admit(const Rules& rules);

// Errors: not_found, conflict.
Result<void> admit(const State& state, JobId job, Request request);

// Errors: not_found, conflict, invalid.
Result<void> admit(const State& state, JobId job, const WorkerRange& range,
                   const ComingNodes& coming = {});

// May the node be told to drain so? Errors: not_found, invalid.
Result<const Node*> admit(const State& state, std::string_view node, const DrainOrder& order,
                          WallTime now);

// May jobs be let start there again? Errors: not_found, conflict.
Result<const Node*> admit_undrain(const State& state, std::string_view node);

// Errors: conflict: it ended otherwise than by completing.
Result<void> may_come_after(const Job& before);

// Errors: not_found; conflict: it is forgotten, and so over.
Result<const Job*> find_job(const State& state, JobId job);

}  // namespace paceline
