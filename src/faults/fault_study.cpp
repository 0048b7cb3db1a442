#include "faults/fault_study.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "faults/fault_world.hpp"
#include "faults/log_tap.hpp"
#include "sim/side_by_side.hpp"

namespace paceline::faults {
namespace {

thread_local std::optional<std::uint64_t> running;

class FaultRunner {
 public:
  FaultRunner(const FaultStudyPlan& plan, const FaultKit& kit, const FaultWatch& watch)
      : plan_(plan), kit_(kit), watch_(watch), digests_(plan.last - plan.first + 1) {}

  FaultStudy run() {
    sim::side_by_side(digests_.size(), plan_.threads, [this](std::size_t index) {
      FaultOptions options;
      options.seed = plan_.first + index;
      options.story = plan_.story;
      FaultReport report = run_fault_seed(options, kit_);
      digests_[index] = report.digest;
      return take(options.seed, std::move(report));
    });
    std::ranges::sort(study_.failed, {}, &FailedSeed::seed);
    if (study_.failed.size() > kFailedSeedsMax) study_.failed.resize(kFailedSeedsMax);
    Digest digest;
    for (const std::uint64_t each : digests_) digest.add(each);
    study_.digest = digest.value();
    return std::move(study_);
  }

 private:
  // False: give up.
  bool take(std::uint64_t seed, FaultReport report) {
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
    if (!given_up_ && watch_) given_up_ = !watch_(done);
    return !given_up_;
  }

  const FaultStudyPlan& plan_;
  const FaultKit& kit_;
  const FaultWatch& watch_;
  const LogTap tap_;
  std::vector<std::uint64_t> digests_;
  std::mutex mutex_;
  bool given_up_ = false;
  FaultStudy study_;
};

}  // namespace

FaultReport run_fault_seed(const FaultOptions& options, const FaultKit& kit) {
  running = options.seed;
  const auto disk = kit.make_disk();
  FaultReport report =
      run_fault_world(options, {*disk, kit.make_engine, kit.make_clock, kit.policies, kit.scripts});
  running.reset();
  return report;
}

FaultStudy run_faults(const FaultStudyPlan& plan, const FaultKit& kit, const FaultWatch& watch) {
  check(plan.first <= plan.last, "a range of seeds has one");
  check(!plan.story || plan.first == plan.last, "a story is of one seed");
  return FaultRunner(plan, kit, watch).run();
}

std::optional<std::uint64_t> running_fault_seed() { return running; }

}  // namespace paceline::faults
