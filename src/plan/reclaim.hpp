// A job that never saved begins anew when it is stopped. Where it would be stopped for another job
// it is asked for its slots first, and told so. It goes on for Rules::reclaim_after from then on,
// and is stopped once that is over, if a job is still to start in its place. Jobs that their owner
// or a time limit ends are not asked.
//
//   14:00: a round: another job would start in its place    Plan::asked → Gang::asked
//   14:07: it saves: it may be stopped at once, with what it did since then at risk
//   14:10: a round; if it still never saved: stopped
#pragma once

#include "model/state.hpp"

namespace paceline {

// From when on the job may be stopped for others, asked now at the latest; `now` or before: now.
// REQUIRES: it has a current gang.
Time may_stop_from(const Snapshot& snapshot, const Job& job);

// Is it to be asked, and may not be stopped yet?
bool must_be_asked(const Snapshot& snapshot, const Job& job);

}  // namespace paceline
