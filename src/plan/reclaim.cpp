#include "plan/reclaim.hpp"

namespace paceline {

Time may_stop_from(const Snapshot& snapshot, const Job& job) {
  if (!job.begins_anew()) return snapshot.now;
  const auto& asked = job.current->asked;
  const Duration after = snapshot.state.rules().reclaim_after.value_or(Duration::zero());
  return (asked ? asked->since : snapshot.now) + after;
}

bool must_be_asked(const Snapshot& snapshot, const Job& job) {
  return may_stop_from(snapshot, job) > snapshot.now;
}

}  // namespace paceline
