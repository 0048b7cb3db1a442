// What policies share when they walk the waiting jobs.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "model/waiting_order.hpp"
#include "placement/obstacle.hpp"
#include "plan/draft.hpp"

namespace paceline {

// Whether a waiting job may start now. One that backs off is told so, and looked at again when its
// time has come.
bool startable(const Job& job, const Snapshot& snapshot, Draft& draft);

// The workers a rigid policy gives the job: what it wants, or as many as the nodes could ever hold.
std::int32_t wanted(const State& state, const Job& job);

// Where such a job doesn't fit, no job of those that equal_room() names with as many workers of as many slots
// does.
bool takes_any_slots(const Draft& draft, const Job& job);
// Equal for jobs that the same nodes serve, as far as those look at whose a job is: its user's name, or
// nothing where all nodes serve everybody.
std::string_view equal_room(const State& state, const Job& job);
// Such a job fits wherever so many slots are free: each of its workers needs one, no job keeps
// others off its nodes, and no slots are kept for another job.
bool fits_by_count(const Job& job, const Draft& draft);

// Walks the startable jobs in arrival order with a rule that starts one or says false; the first
// that can't start blocks all behind it, and the walk ends there.
void start_in_order(const Snapshot& snapshot, Draft& draft,
                    const std::function<bool(const Job&)>& start);

// What a job is given first: the size it wants, or its smallest.
enum class Sizes { wanted, smallest };

// What becomes of the waiting jobs that did not start by a policy's wishes: down the line each that
// fits on free slots starts. The policy's rule counts slots alone; where those lie in the wrong
// places an earlier job may not fit, and a later one does.
struct Rest {
  Order order;
  Sizes sizes = Sizes::wanted;
  std::string_view before{};  // the jobs that go first: "jobs with less left"; or nothing
};

// Starts them.
void start_rest(const Snapshot& snapshot, Draft& draft, const Rest& rest);
// Says of each job that still waits what it waits for: slots, or the jobs that go first.
void say_why_waiting(const Snapshot& snapshot, Draft& draft, const Rest& rest);

}  // namespace paceline
