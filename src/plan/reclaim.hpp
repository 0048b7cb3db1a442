// Who never saved begins anew when it is stopped. Where it would be stopped for others it is asked
// first, and told so; it goes on for Rules::reclaim_after from then on, and is stopped once that is
// over and others are still to start in its place. What owners and the clock end is not asked.
//
//   round at 14:00: others would start in its place       Plan::asked → Gang::asked
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
