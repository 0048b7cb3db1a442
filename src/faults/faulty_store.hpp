// A store whose disk fills up and lies, and whose user can be made to die at a commit: right before
// it, or right after, when all is durable and nobody was told.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "faults/crash_point.hpp"
#include "store/wrapped_store.hpp"

namespace paceline::faults {

class FaultyStore final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;

  void set_full(bool full) { full_ = full; }
  [[nodiscard]] bool full() const { return full_; }
  // At the next append that would succeed. between_effects: once `effects` frames more were sent.
  void crash_at_next(CrashPoint point, std::uint64_t effects = 0);
  // At the same places, at the n-th append from here on, counted from 1.
  void crash_at(std::uint64_t n, CrashPoint point, std::uint64_t effects = 0);
  // The next append that would succeed says that it failed. Its batch is in doubt: the next write
  // that succeeds takes its place, but if the user dies before, it turns out to be durable, as with a
  // write-ahead log that could not be synced.
  void leave_next_in_doubt() { next_in_doubt_ = true; }
  // The user is dead: whatever it does from now on does not happen. Until revive() nothing is
  // stored.
  [[nodiscard]] bool crashed() const { return crashed_; }
  void revive();
  // Asked before each effect; false: the user is dead.
  bool may_act();
  // Called with each batch that became durable.
  void on_stored(std::function<void(const Batch&)> stored) { stored_ = std::move(stored); }
  // Appends that became durable, ever.
  [[nodiscard]] std::uint64_t commits() const { return commits_; }

  Result<void> append(const Batch& batch) override;
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override;
  Result<void> prove() override;
  Result<bool> thin(JobId job) override;
  Result<bool> drop(JobId job, Time now) override;
  Result<bool> tidy(const JournalBounds& bounds) override;

 private:
  struct Crash {
    CrashPoint point = CrashPoint::before_commit;
    std::uint64_t after = 1;  // appends
    std::uint64_t effects = 0;
  };

  Result<void> keep(const Batch& batch);

  bool full_ = false;
  bool crashed_ = false;
  bool next_in_doubt_ = false;
  std::optional<Batch> in_doubt_;
  std::uint64_t commits_ = 0;
  std::function<void(const Batch&)> stored_;
  std::optional<Crash> crash_;
  std::optional<std::uint64_t> effects_left_;  // then the user dies
};

}  // namespace paceline::faults
