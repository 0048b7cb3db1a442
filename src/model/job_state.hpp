// The states of a job and the table of what may follow what. The table is data: apply() asserts it,
// tests enumerate it, and docs/api.md shows it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace paceline {

enum class JobState {
  pending,   // waits for slots, for another job, for its owner (hold), or for its back-off
  starting,  // seats are leased or promised, not every worker runs yet
  running,   // every worker of the current generation runs
  resizing,  // a new generation forms
  paused,    // frozen: by its owner, and keeps its leases; or for other jobs, which have its slots
  stopping,  // notice given; workers are on their way out
  completed,
  failed,
  cancelled,
  timeout,
};

inline constexpr std::array kJobStates = {
    JobState::pending,   JobState::starting, JobState::running,   JobState::resizing,
    JobState::paused,    JobState::stopping, JobState::completed, JobState::failed,
    JobState::cancelled, JobState::timeout};

std::string_view to_string(JobState state);  // "PENDING", …
std::optional<JobState> parse_job_state(std::string_view text);

constexpr bool is_over(JobState state) { return state >= JobState::completed; }

struct Transition {
  JobState from;
  JobState to;
  std::string_view when;
};

std::span<const Transition> transitions();
bool may_follow(JobState from, JobState to);

// Why a job or a worker ended. The cause decides the ending, not the exit code alone.
enum class Cause {
  exited,         // by itself, with a code
  signalled,      // by a signal that was not ours
  out_of_memory,  // the cgroup's limit
  launch_failed,  // the program could not be started
  setup_failed,   // `setup:` ended non-zero
  preempted,      // our kill, for another job
  resized,        // our kill, for the job's own next generation
  cancelled,      // our kill, asked by its owner
  timed_out,      // our kill, max_duration is over
  gang_failed,    // our kill, because another worker of the gang failed
  node_lost,      // node, supervisor or boot lost
  requeue_asked,  // exit code 75 or 99
  dependency_failed,
  crash_loop,  // retries ended because the job fails again and again without progress
  refused,     // not started, or not kept: its machine lacks space, descriptors, processes
  missing,     // its directory or its program is not on its machine: no retry is spent
};

constexpr bool is_our_kill(Cause cause) {
  return cause >= Cause::preempted && cause <= Cause::gang_failed;
}

std::string_view to_string(Cause cause);  // snake_case, as above
std::optional<Cause> parse_cause(std::string_view text);

}  // namespace paceline
