#include "sim/faulty_store.hpp"

#include <utility>

namespace paceline::sim {
namespace {

tl::unexpected<Error> no_space() {
  return fail(ErrorCode::storage, "The disk is full.", "Free some space.", Retry::may_help);
}

}  // namespace

void FaultyStore::revive() {
  crashed_ = false;
  crash_.reset();
}

Result<void> FaultyStore::append(const Batch& batch) {
  if (full_ || crashed_) return no_space();
  const auto crash = std::exchange(crash_, std::nullopt);
  if (!crash) return disk_.append(batch);
  crashed_ = true;
  if (*crash == CrashPoint::after_commit) {
    if (auto ok = disk_.append(batch); !ok) return ok;
  }
  return no_space();
}

Result<void> FaultyStore::checkpoint(const State& state, std::span<const JobId> changed) {
  if (full_ || crashed_) return no_space();
  return disk_.checkpoint(state, changed);
}

}  // namespace paceline::sim
