// The engine of a simulation: workers do at once what the state wants, jobs progress as their true
// work and speed-up say, and what happens is told as it would be of real ones.
//
// A job that is stopped or resized saves at the notice and loses nothing but time: starting again
// costs a restart, another size a resize (Costs). One that is paused for others goes on at
// once. One that fails goes on from its last save. Cost: O(log running) for each thing that happens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "clock/clock.hpp"
#include "engine/engine.hpp"
#include "sim/truth/device_speeds.hpp"
#include "sim/truth/learning.hpp"
#include "sim/truth/pace.hpp"
#include "sim/truth/speedup.hpp"
#include "sim/truth/training.hpp"

namespace paceline::sim {

// Time between a job's workers being asked for and their training on.
struct Costs {
  Duration restart = std::chrono::seconds{30};
  Duration resize = std::chrono::seconds{1};
  friend bool operator==(const Costs&, const Costs&) = default;
};

// What a job does for the day it fails, and how often that comes.
struct Hazards {
  double failures_per_slot_hour = 0;  // of running
  Duration save_every{};              // 0: only where it is stopped
  bool tells_saves = false;           // each at its own instant; else those that are awaited
  friend bool operator==(const Hazards&, const Hazards&) = default;
};

// Slot-seconds leased that became no progress, by cause.
struct Losses {
  double preemption = 0;  // starting again after a stop for another job
  double resize = 0;      // starting again with another size or on other slots
  double failure = 0;     // work done twice, and starting again for it
};

// What a job truly needs.
struct Truth {
  Duration length{};                        // of its run at the wanted size, until it ends
  std::int32_t wanted = 1;                  // workers
  const Speedup* speedup = nullptr;         // outlives the engine
  std::int32_t reports = 0;                 // it makes over its length, evenly
  bool tells_total = true;                  // its reports say of how much work
  double reach = 1;                         // the part of its training that its length is
  const LearningCurve* learning = nullptr;  // of its metric; nullptr: it has none
  const Training* training = nullptr;       // where it was profiled: in place of `speedup`
  const SpeedByModel* devices = nullptr;    // against those of `length`; nullptr: all are alike
};

class StudyEngine final : public Engine {
 public:
  // `truth_of` is asked once for each job.
  StudyEngine(Clock& clock, std::function<Truth(JobId)> truth_of, const Costs& costs,
              const Hazards& hazards, std::uint64_t seed);

  Observed observe() override;
  void committed() override {}
  void act(const State& state, std::span<const JobId> jobs) override;
  void await_saves(std::span<const JobId> jobs) override {
    awaited_.assign(jobs.begin(), jobs.end());
  }
  void on_news(std::function<void()>) override {}

  void join(NodeUp node) { news_.events.emplace_back(std::move(node)); }
  // Makes what is due by now happen.
  void advance();
  // When something happens next; nothing: never. A save that nobody awaits is told with whatever else
  // happens.
  [[nodiscard]] std::optional<Time> next_due() const;
  [[nodiscard]] bool has_news() const { return !news_.events.empty(); }
  [[nodiscard]] const Losses& losses() const { return losses_; }

 private:
  enum class Phase { none, coming_up, running, frozen };
  enum class Happening { done, failed, comes_up, reports, saves };

  // A gang of a job. Work is in microseconds of running at the wanted size: whole numbers, hence
  // exact, as long as no size but the wanted one is used.
  struct Run {
    std::optional<Truth> truth;
    double left = 0;  // as of `since`
    double kept = 0;  // left if it failed now
    Pace pace;        // of the gang
    Time since;
    std::optional<Time> saves_at;       // by itself, next
    Duration cost{};                    // before the next gang trains
    double Losses::*lost_to = nullptr;  // what it counts as; nullptr: nothing
    Generation generation;
    std::int32_t workers = 0;
    std::int32_t slots = 0;
    std::int32_t reported = 0;
    std::uint32_t stamp = 0;  // what is planned under an older one does not happen
    Phase phase = Phase::none;
  };

  struct Due {
    Time at;
    JobId job;
    Happening what;
    std::uint32_t stamp;
    // The earliest, the smallest id and the first kind come first out of a std::priority_queue.
    friend bool operator<(const Due& a, const Due& b) {
      return std::tuple(b.at, b.job, b.what) < std::tuple(a.at, a.job, a.what);
    }
  };

  Run& run_of(const Job& job);
  void follow(const State& state, const Job& job);
  void begin(Run& run, const State& state, const Job& job);
  void stop(Run& run, const Job& job);
  void come_up(Run& run, JobId job);
  void freeze(Run& run);
  void thaw(Run& run, JobId job);
  void plan_run(Run& run, JobId job);
  void plan_report(Run& run, JobId job);
  void plan_save(Run& run, JobId job, Time last);
  void plan(Time at, JobId job, Happening what, const Run& run);
  void happen(const Due& due);
  void save(Run& run, JobId job, Time at);
  void take_saves();
  [[nodiscard]] std::optional<Time> next_awaited_save() const;
  void report(Run& run, JobId job, double trained);
  void fail(Run& run, JobId job);
  void progress(Run& run, Time until);
  void pay_pause(const Run& run);
  void tell_ends(const Run& run, JobId job, const Ending& ending);

  Clock& clock_;
  std::function<Truth(JobId)> truth_of_;
  Costs costs_;
  Hazards hazards_;
  Rng rng_;
  std::vector<Run> runs_;  // of job n at n-1
  using Dues = std::priority_queue<Due>;
  std::optional<Time> first_of(Dues& dues) const;
  mutable Dues due_, saves_;
  std::vector<JobId> awaited_;  // whose saves are
  Observed news_;
  Losses losses_;
};

}  // namespace paceline::sim
