// How the nouns are printed when a test fails. Found by name lookup: lie in the nouns' own
// namespace.
#pragma once

#include <ostream>

#include "model/job.hpp"
#include "model/job_spec.hpp"
#include "model/job_state.hpp"
#include "model/reason.hpp"
#include "plan/plan.hpp"

namespace paceline {

inline void PrintTo(JobState state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(Cause cause, std::ostream* out) { *out << to_string(cause); }
inline void PrintTo(ChangeKind kind, std::ostream* out) { *out << to_string(kind); }
inline void PrintTo(ReasonCode code, std::ostream* out) { *out << name(code); }
inline void PrintTo(const Reason& reason, std::ostream* out) {
  *out << name(reason.code) << ": " << sentence(reason);
}
inline void PrintTo(const WorkerRange& range, std::ostream* out) { *out << to_string(range); }
inline void PrintTo(JobId id, std::ostream* out) { *out << "job " << id.value; }
inline void PrintTo(NodeId id, std::ostream* out) { *out << "node " << id.value; }
inline void PrintTo(Generation generation, std::ostream* out) {
  *out << "generation " << generation.value;
}
inline void PrintTo(Time time, std::ostream* out) { *out << to_seconds(time) << " s"; }

inline void PrintTo(const Change& change, std::ostream* out) {
  *out << to_string(change.kind) << " job " << change.job.value << " to " << change.placement.size()
       << " workers, " << sentence(change.reason);
}

inline void PrintTo(const Job& job, std::ostream* out) {
  *out << "job " << job.id.value << " " << to_string(job.state) << ", generation "
       << job.last_generation.value << ", sums up to " << to_seconds(job.changed_at) << " s";
}

}  // namespace paceline
