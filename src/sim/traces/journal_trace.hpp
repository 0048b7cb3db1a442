// What a live server was asked to do, as a trace: the jobs of its journal's fold, each as it was
// submitted and as long as it truly was.
//
// A job's length is the time it ran that counts, each size weighed with the speed-up that the
// simulation will give it: a simulated run at the same sizes takes as long. Where it ran in one
// piece, the start of its processes is part of it. Work that was lost and done again counts once.
// What was cancelled, failed or was timed out is as long as it ran (Trace::cut_short); what is not
// over is as long as it ran up to the last entry or as it declared, whichever is more (not_over);
// what did not run up to there and declared nothing is left out (no_duration).
//
// Nobody repeats what owners did meanwhile: no pause, resize, hold, cancel or time limit. Targets
// are left out as well, since a simulated job reports no metric. What jobs paused when they were
// resized or started again is told as it was measured.
#pragma once

#include <span>

#include "model/state.hpp"
#include "sim/trace.hpp"
#include "sim/truth/speedup.hpp"

namespace paceline::sim {

inline constexpr std::string_view kJournalFormat = "paceline";  // the word of --format

// Names are job ids, applications the jobs' own names, nodes those that the server has seen,
// without the slots that it may not use.
// `forgotten`: the jobs that the state forgot, in id order.
Trace trace_of(const State& state, std::span<const Job> forgotten, const Speedup& speedup);

}  // namespace paceline::sim
