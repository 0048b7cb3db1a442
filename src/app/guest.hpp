// An agent on time that somebody else lends: a job of a batch system. Nothing outlives it. A small parent
// adopts whatever the agent starts, also supervisors, which elsewhere go on without their agent; once it is
// told to end, or the agent is gone, it ends every process below it and then itself, and its directory goes
// with it. So where the batch system says that the job is over, its workers are.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.hpp"

namespace paceline {

inline constexpr std::chrono::milliseconds kSaveWithin{20'000};  // batch systems kill after 30 s

// Runs `agent` in a child and returns its exit code, or 0 where a signal ended it: SIGTERM, SIGINT and
// SIGHUP. What the agent started gets SIGTERM then, `save_within` to save, and SIGKILL. REQUIRES: this
// process has one thread. Errors: conflict: there is something in `directory` besides `token`, so it can't be a
// guest's; storage.
Result<int> run_as_guest(const std::string& directory, const std::function<int()>& agent,
                         std::chrono::milliseconds save_within = kSaveWithin);

}  // namespace paceline
