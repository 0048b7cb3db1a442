#include "faults/faulty_store.hpp"

#include <utility>

namespace paceline::faults {
namespace {

tl::unexpected<Error> no_space() {
  return fail(ErrorCode::storage, "The disk is full.", "Free some space.", Retry::may_help);
}

tl::unexpected<Error> not_synced() {
  return fail(ErrorCode::storage, "The disk can't be written.", "Try again.", Retry::may_help);
}

}  // namespace

void FaultyStore::crash_at_next(CrashPoint point, std::uint64_t effects) {
  crash_at(1, point, effects);
}

void FaultyStore::crash_at(std::uint64_t n, CrashPoint point, std::uint64_t effects) {
  crash_ = Crash{point, n, effects};
}

void FaultyStore::revive() {
  crashed_ = false;
  crash_.reset();
  effects_left_.reset();
  next_in_doubt_ = false;
  if (const auto batch = std::exchange(in_doubt_, std::nullopt)) (void)keep(*batch);
}

bool FaultyStore::may_act() {
  if (effects_left_ && (*effects_left_)-- == 0) crashed_ = true;
  if (crashed_) effects_left_.reset();
  return !crashed_;
}

Result<void> FaultyStore::append(const Batch& batch) {
  if (full_ || crashed_) return no_space();
  if (std::exchange(next_in_doubt_, false)) {
    in_doubt_ = batch;
    return not_synced();
  }
  if (!crash_ || --crash_->after > 0) return keep(batch);
  const Crash crash = *std::exchange(crash_, std::nullopt);
  if (crash.point == CrashPoint::between_effects) {
    effects_left_ = crash.effects;
    return keep(batch);
  }
  crashed_ = true;
  if (crash.point == CrashPoint::after_commit) {
    if (auto ok = keep(batch); !ok) return ok;
  }
  return no_space();
}

Result<void> FaultyStore::keep(const Batch& batch) {
  if (auto ok = WrappedStore::append(batch); !ok) return ok;
  in_doubt_.reset();
  ++commits_;
  if (stored_) stored_(batch);
  return {};
}

Result<void> FaultyStore::checkpoint(const State& state, std::span<const JobId> changed) {
  if (full_ || crashed_) return no_space();
  auto done = WrappedStore::checkpoint(state, changed);
  if (done) in_doubt_.reset();
  return done;
}

Result<void> FaultyStore::prove() {
  if (full_ || crashed_) return no_space();
  auto done = WrappedStore::prove();
  if (done) in_doubt_.reset();
  return done;
}

Result<bool> FaultyStore::thin(JobId job) {
  if (full_ || crashed_) return no_space();
  return WrappedStore::thin(job);
}

Result<bool> FaultyStore::drop(JobId job, Time now) {
  if (full_ || crashed_) return no_space();
  return WrappedStore::drop(job, now);
}

Result<bool> FaultyStore::tidy(const JournalBounds& bounds) {
  if (full_ || crashed_) return no_space();
  return WrappedStore::tidy(bounds);
}

}  // namespace paceline::faults
