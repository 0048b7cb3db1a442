#include "model/job_state.hpp"

#include <utility>

namespace paceline {
namespace {

constexpr std::array kStateNames = {
    std::pair{JobState::pending, "PENDING"},     std::pair{JobState::starting, "STARTING"},
    std::pair{JobState::running, "RUNNING"},     std::pair{JobState::resizing, "RESIZING"},
    std::pair{JobState::paused, "PAUSED"},       std::pair{JobState::stopping, "STOPPING"},
    std::pair{JobState::completed, "COMPLETED"}, std::pair{JobState::failed, "FAILED"},
    std::pair{JobState::cancelled, "CANCELLED"}, std::pair{JobState::timeout, "TIMEOUT"}};

constexpr std::array kCauseNames = {std::pair{Cause::exited, "exited"},
                                    std::pair{Cause::signalled, "signalled"},
                                    std::pair{Cause::out_of_memory, "out_of_memory"},
                                    std::pair{Cause::launch_failed, "launch_failed"},
                                    std::pair{Cause::setup_failed, "setup_failed"},
                                    std::pair{Cause::preempted, "preempted"},
                                    std::pair{Cause::resized, "resized"},
                                    std::pair{Cause::cancelled, "cancelled"},
                                    std::pair{Cause::timed_out, "timed_out"},
                                    std::pair{Cause::gang_failed, "gang_failed"},
                                    std::pair{Cause::node_lost, "node_lost"},
                                    std::pair{Cause::requeue_asked, "requeue_asked"},
                                    std::pair{Cause::dependency_failed, "dependency_failed"},
                                    std::pair{Cause::crash_loop, "crash_loop"},
                                    std::pair{Cause::refused, "refused"},
                                    std::pair{Cause::missing, "missing"}};

template <class Names, class Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [v, text] : names) {
    if (v == value) return text;
  }
  return "unknown";
}

template <class Value, class Names>
std::optional<Value> value_of(const Names& names, std::string_view text) {
  for (const auto& [v, name] : names) {
    if (text == name) return v;
  }
  return std::nullopt;
}

using S = JobState;

constexpr std::array kTransitions = {
    Transition{S::pending, S::starting, "a plan leases or promises its seats"},
    Transition{S::pending, S::cancelled,
               "its owner cancels it, or a job it waits for did not complete"},
    Transition{S::starting, S::running, "every worker runs"},
    Transition{S::starting, S::completed,
               "every worker ended cleanly before the last was seen running"},
    Transition{S::starting, S::pending,
               "it is preempted or requeued, or a retry is left, before it ran"},
    Transition{S::starting, S::failed, "a worker failed and no retry is left"},
    Transition{S::starting, S::timeout, "its machine held its max_duration while no server did"},
    Transition{S::starting, S::stopping,
               "its owner cancels it, or a worker failed and the others are told"},
    Transition{S::starting, S::cancelled, "its owner cancels it before any worker was started"},
    Transition{S::running, S::resizing, "a plan forms its next generation"},
    Transition{S::running, S::paused, "its owner pauses it, or a plan lends its slots"},
    Transition{S::running, S::stopping,
               "it is told to stop: cancel, preemption, time limit, a failed worker"},
    Transition{S::running, S::completed, "every worker ended cleanly"},
    Transition{S::running, S::failed, "a worker failed and no retry is left"},
    Transition{S::running, S::timeout, "its machine held its max_duration while no server did"},
    Transition{S::running, S::pending,
               "it asked to be requeued, its node was lost or refused it, or a retry is left"},
    Transition{S::resizing, S::running, "every worker of the new generation runs"},
    Transition{S::resizing, S::stopping, "it is told to stop while the new generation forms"},
    Transition{S::resizing, S::completed,
               "it ended cleanly instead of making room for the new generation"},
    Transition{S::resizing, S::failed, "a worker failed and no retry is left"},
    Transition{S::resizing, S::pending, "the new generation failed and it is requeued"},
    Transition{S::resizing, S::cancelled, "its owner cancels it between two generations"},
    Transition{S::resizing, S::timeout, "max_duration is over between two generations"},
    Transition{S::paused, S::running, "its owner resumes it, or it has its slots back"},
    Transition{S::paused, S::resizing, "a plan lets it start anew elsewhere"},
    Transition{S::paused, S::stopping, "its owner cancels it, or a worker was lost"},
    Transition{S::paused, S::completed, "every worker had ended cleanly"},
    Transition{S::paused, S::failed, "a worker failed and no retry is left"},
    Transition{S::paused, S::timeout, "its machine held its max_duration before it heard of this"},
    Transition{S::paused, S::pending, "its node was lost, or a retry is left"},
    Transition{S::stopping, S::pending, "preempted, requeued, or a retry is left"},
    Transition{S::stopping, S::completed, "it ended cleanly after the notice"},
    Transition{S::stopping, S::failed, "a worker had failed and no retry is left"},
    Transition{S::stopping, S::cancelled, "cancelled, and nothing of it is left"},
    Transition{S::stopping, S::timeout, "over max_duration, and nothing of it is left"},
};

}  // namespace

std::string_view to_string(JobState state) { return name_of(kStateNames, state); }

std::optional<JobState> parse_job_state(std::string_view text) {
  return value_of<JobState>(kStateNames, text);
}

std::span<const Transition> transitions() { return kTransitions; }

bool may_follow(JobState from, JobState to) {
  for (const auto& t : kTransitions) {
    if (t.from == from && t.to == to) return true;
  }
  return false;
}

std::string_view to_string(Cause cause) { return name_of(kCauseNames, cause); }

std::optional<Cause> parse_cause(std::string_view text) {
  return value_of<Cause>(kCauseNames, text);
}

}  // namespace paceline
