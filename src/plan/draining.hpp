// Nodes that drain become empty, before any policy decides. Nothing starts there (Node::offers). A job
// that stands there
//
// - goes on elsewhere, or smaller without the node, once it can be changed without losing more than
//   kLeavesUnsaved of its work: that is, right after it saved; at the latest `reclaim_after` after the
//   drain began, or when the drain ends;
// - stays, where the order keeps what runs there;
// - else runs on. When the drain ends it is stopped, with notice and grace, and waits for its turn: also a
//   job that never saved, and one that its owner paused.
//
//   14:00: drain gpu1 --by 18:00
//   14:00: job 7 (4 workers, 2 there) goes on with 2; job 8 runs on: it last saved 20 min ago
//   14:03: job 8 saves, and moves to gpu2; job 9 runs on: no other node has room
//   18:00: job 9 is stopped, and saves on its notice
#pragma once

#include "plan/draft.hpp"

namespace paceline {

inline constexpr Duration kLeavesUnsaved = std::chrono::seconds{60};

// Could a worker be started there, were a slot free?
bool starts_jobs(const Node& node);

// Has a worker of it outstayed the drain of its node?
bool outstays(const Snapshot& snapshot, const Job& job);

// The jobs that are on the node, or on their way there, in the order of the queue.
std::vector<JobId> jobs_on(const State& state, const Node& node);

// When the job may leave a node that drains, as its work is saved now. REQUIRES: it runs.
Time may_leave_from(const Snapshot& snapshot, const Job& job, const Node& node);

// Changes nothing but jobs on nodes that drain, which it leaves alone where the draft changed them.
void leave_draining_nodes(Draft& draft);

}  // namespace paceline
