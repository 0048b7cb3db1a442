// The fault simulator notices a program that is broken: worlds with one part that does not keep its
// word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/faults.hpp"
#include "store/memory/memory_store.hpp"
#include "store/wrapped_store.hpp"

namespace paceline::faults {
namespace {

using ::testing::HasSubstr;

// ---- engines ----

// Passes everything on; what it does wrong is the derived one's.
class Between : public Engine {
 public:
  explicit Between(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}

  Observed observe() override {
    Observed observed = inner_->observe();
    spoil(observed);
    return observed;
  }
  void committed() override { inner_->committed(); }
  void act(const State& state, std::span<const JobId> jobs) override {
    std::vector<JobId> heard;
    for (const JobId id : jobs) {
      if (hears_of(state.job(id))) heard.push_back(id);
    }
    inner_->act(state, heard);
  }
  void left(std::string_view node) override { inner_->left(node); }
  void on_news(std::function<void()> wake) override { inner_->on_news(std::move(wake)); }

 protected:
  virtual void spoil(Observed&) {}
  [[nodiscard]] virtual bool hears_of(const Job&) const { return true; }

 private:
  std::unique_ptr<Engine> inner_;
};

class ForgetsEnds final : public Between {
 public:
  using Between::Between;

 private:
  void spoil(Observed& observed) override {
    std::erase_if(observed.events, [this](const Event& event) {
      return std::holds_alternative<WorkerEnded>(event) && ++ends_ % 10 == 0;
    });
  }
  int ends_ = 0;
};

class TellsEndsTooEarly final : public Between {
 public:
  using Between::Between;

 private:
  void spoil(Observed& observed) override {
    const auto told = observed.events;
    for (const Event& event : told) {
      if (const auto* started = std::get_if<WorkerStarted>(&event))
        observed.events.push_back(WorkerEnded{started->worker, {Cause::exited, 0, 0, "", {}}});
    }
  }
};

class StopsNobody final : public Between {
 public:
  using Between::Between;

 private:
  [[nodiscard]] bool hears_of(const Job& job) const override {
    return !job.current || !job.current->stop;
  }
};

// ---- disks ----

enum class Forgets { retries, keys };

class Forgetful final : public WrappedStore {
 public:
  explicit Forgetful(Forgets what) : WrappedStore(disk_), what_(what) {}

  Result<State> load() override {
    auto state = disk_.load();
    if (what_ != Forgets::retries || state->jobs().empty()) return state;
    StateParts parts = state->parts();
    parts.jobs.at(parts.jobs.begin()->id).retries_used = -1;
    return State(std::move(parts));
  }
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override {
    if (what_ == Forgets::keys) return std::nullopt;
    return disk_.find_submission(uid, key, now);
  }

 private:
  Forgets what_;
  MemoryStore disk_;
};

// As the wall clock shows, but for going back.
class FollowsTheWallClock final : public Clock {
 public:
  explicit FollowsTheWallClock(ClockSources sources) : sources_(std::move(sources)) {}
  Time now() override { return last_ = std::max(last_, Time{sources_.wall().time_since_epoch()}); }
  [[nodiscard]] const Boot* boot() const override { return &boot_; }
  void resume(Time last, const std::optional<Boot>&) override { last_ = last; }

 private:
  ClockSources sources_;
  Time last_;
  Boot boot_{"ever the same", {}};
};

// ---- worlds ----

// Of the first seeds together.
std::string faults_of(const FaultKit& kit, std::uint64_t first = 1) {
  std::string all;
  for (const FailedSeed& failed : run_faults({first, first + 23, 1}, kit, {}).failed) {
    for (const auto& fault : failed.faults) all += fault + "\n";
  }
  return all;
}

template <class Broken>
FaultKit kit_with_engine() {
  FaultKit kit = fault_kit();
  kit.make_engine = [](Clock& clock, EngineSources sources, const EngineBounds& bounds) {
    auto parts = fault_kit().make_engine(clock, std::move(sources), bounds);
    parts.engine = std::make_unique<Broken>(std::move(parts.engine));
    return parts;
  };
  return kit;
}

TEST(BrokenParts, AreNoneInTheProgram) { EXPECT_EQ(faults_of(fault_kit()), ""); }

TEST(BrokenParts, AClockThatFollowsTheWallClockCountsWhatNobodyRan) {
  FaultKit kit = fault_kit();
  kit.make_clock = [](ClockSources sources) {
    return std::make_unique<FollowsTheWallClock>(std::move(sources));
  };
  EXPECT_THAT(faults_of(kit), HasSubstr("it is said for"));
}

TEST(BrokenParts, AnEngineThatForgetsEndsLeavesJobsBehind) {
  EXPECT_THAT(faults_of(kit_with_engine<ForgetsEnds>()), HasSubstr("is still"));
}

TEST(BrokenParts, AnEngineThatTellsEndsTooEarlyLeavesProcessesBehind) {
  EXPECT_THAT(faults_of(kit_with_engine<TellsEndsTooEarly>()),
              HasSubstr("is alive, and the state has given it up"));
}

TEST(BrokenParts, AnEngineThatStopsNobodyLetsWorkersOutliveTheirStop) {
  // Most seeds end at another of its faults before.
  std::string all;
  for (std::uint64_t first = 1; first < 500 && all.find("outlives its stop") == std::string::npos;
       first += 24)
    all += faults_of(kit_with_engine<StopsNobody>(), first);
  EXPECT_THAT(all, HasSubstr("outlives its stop"));
}

FaultKit kit_with_disk(Forgets what) {
  FaultKit kit = fault_kit();
  kit.make_disk = [what] { return std::make_unique<Forgetful>(what); };
  return kit;
}

TEST(BrokenParts, ADiskThatForgetsRetriesIsFoundOutAtARestart) {
  EXPECT_THAT(faults_of(kit_with_disk(Forgets::retries)),
              HasSubstr("the state is not what the entries say"));
}

TEST(BrokenParts, ADiskThatForgetsKeysDoublesJobs) {
  EXPECT_THAT(faults_of(kit_with_disk(Forgets::keys)), HasSubstr("is submitted twice"));
}

}  // namespace
}  // namespace paceline::faults
