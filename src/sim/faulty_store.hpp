// A store whose disk fills up, and whose user can be made to die at a commit: right before it, or
// right after, when all is durable and nobody was told.
#pragma once

#include <optional>

#include "store/store.hpp"

namespace paceline::sim {

enum class CrashPoint { before_commit, after_commit };

class FaultyStore final : public Store {
 public:
  explicit FaultyStore(Store& disk) : disk_(disk) {}

  void set_full(bool full) { full_ = full; }
  // At the next append that would succeed.
  void crash_at_next(CrashPoint point) { crash_ = point; }
  // The user is dead: whatever it does from now on does not happen. Until revive() nothing is
  // stored.
  [[nodiscard]] bool crashed() const { return crashed_; }
  void revive();

  Result<State> load() override { return disk_.load(); }
  Result<void> append(const Batch& batch) override;
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override;
  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) override {
    return disk_.entries(seq, limit);
  }
  Result<LaunchSpec> launch(JobId job) override { return disk_.launch(job); }
  Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                           std::size_t limit) override {
    return disk_.points(job, name, from, limit);
  }
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override {
    return disk_.find_submission(uid, key, now);
  }

 private:
  Store& disk_;
  bool full_ = false;
  bool crashed_ = false;
  std::optional<CrashPoint> crash_;
};

}  // namespace paceline::sim
