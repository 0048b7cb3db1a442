#include "sim/fault_study.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "sim/log_tap.hpp"

namespace paceline::sim {
namespace {

thread_local std::optional<std::uint64_t> running;

class FaultRunner {
 public:
  FaultRunner(const FaultStudyPlan& plan, const FaultKit& kit, const FaultWatch& watch)
      : plan_(plan), kit_(kit), watch_(watch), digests_(plan.last - plan.first + 1) {}

  FaultStudy run() {
    {
      std::vector<std::jthread> threads;
      const auto count = std::clamp<std::size_t>(plan_.threads, 1, digests_.size());
      for (std::size_t i = 1; i < count; ++i) threads.emplace_back([this] { work(); });
      work();
    }
    std::ranges::sort(study_.failed, {}, &FailedSeed::seed);
    if (study_.failed.size() > kFailedSeedsMax) study_.failed.resize(kFailedSeedsMax);
    Digest digest;
    for (const std::uint64_t each : digests_) digest.add(each);
    study_.digest = digest.value();
    return std::move(study_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < digests_.size() && !stop_; i = next_++) {
      FaultOptions options;
      options.seed = plan_.first + i;
      options.story = plan_.story;
      FaultReport report = run_fault_seed(options, kit_);
      digests_[i] = report.digest;
      take(options.seed, std::move(report));
    }
  }

  void take(std::uint64_t seed, FaultReport report) {
    const std::scoped_lock lock(mutex_);
    ++study_.seeds;
    study_.jobs += report.jobs;
    study_.virtual_seconds += to_seconds(report.took);
    for (const auto& [what, times] : report.happened) study_.happened[what] += times;
    if (!report.faults.empty()) {
      ++study_.failures;
      study_.failed.push_back({seed, std::move(report.faults)});
    }
    const double done = static_cast<double>(study_.seeds) / static_cast<double>(digests_.size());
    if (!stop_ && watch_ && !watch_(done)) stop_ = true;
  }

  const FaultStudyPlan& plan_;
  const FaultKit& kit_;
  const FaultWatch& watch_;
  const LogTap tap_;
  std::vector<std::uint64_t> digests_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  FaultStudy study_;
};

}  // namespace

FaultReport run_fault_seed(const FaultOptions& options, const FaultKit& kit) {
  running = options.seed;
  const auto disk = kit.make_disk();
  FaultReport report =
      FaultWorld(options, {*disk, kit.make_engine, kit.policies, kit.scripts}).run();
  running.reset();
  return report;
}

FaultStudy run_faults(const FaultStudyPlan& plan, const FaultKit& kit, const FaultWatch& watch) {
  check(plan.first <= plan.last, "a range of seeds has one");
  check(!plan.story || plan.first == plan.last, "a story is of one seed");
  return FaultRunner(plan, kit, watch).run();
}

std::optional<std::uint64_t> running_fault_seed() { return running; }

}  // namespace paceline::sim
