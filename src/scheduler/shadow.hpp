// A candidate policy in the shadow of the live one: it decides every live round on the snapshot that
// the live one decided on, without effect, and a forecast from time to time says what it would
// change.
//
//   Shadow shadow({registry, placer, judge, "fifo"});
//   shadow.begin("srtf", {}, state.parts(), now);
//   shadow.round(now, plan.changes);       // of the live round, before its entries are folded
//   shadow.take(entries, state);           // every durable batch, once it is folded
//   while (shadow.work()) {}               // elsewhere, later: decides, compares, forecasts
//   shadow.report()->differed
//
// It has two sides that may be on two threads: work() has a state of its own, folded from the same
// entries; everything else only queues and reads, and does not even wait for the lock: what can't be
// handed over now is handed over the next time. When work() falls behind, rounds are passed over and counted; when it falls far behind, it starts again from
// a copy of the live state. A trial is not journalled and ends with the process.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "plan/plan.hpp"
#include "policy/registry.hpp"
#include "scheduler/lineup.hpp"
#include "scheduler/shadow_forecast.hpp"

namespace paceline {

// A round that the two decided differently.
struct ShadowRound {
  std::uint64_t round = 0;
  Time at;
  std::vector<Change> live, shadow;  // at most kShadowChangesMax of each
};

struct ShadowReport {
  std::string policy;
  Parameters parameters;
  Time since;
  std::uint64_t rounds = 0;                 // compared
  std::uint64_t differed = 0;               // of them
  std::uint64_t skipped = 0;                // passed over, for want of time
  std::uint64_t failed = 0;                 // the candidate couldn't decide, or illegally
  std::string failure;                      // why, the last time
  std::deque<ShadowRound> differences;      // the newest kShadowRoundsMax, the newest last
  ShadowForecast forecast;                  // samples = 0: none yet
  std::map<std::string, std::string> memo;  // what the candidate remembers
};

inline constexpr std::size_t kShadowChangesMax = 200;
inline constexpr std::size_t kShadowRoundsMax = 20;

class Shadow {
 public:
  struct Rules {
    const PolicyRegistry& registry;
    const Placer& placer;
    Judge judge;
    std::string last;  // the built-in policy behind all others (lineup.hpp)
    Duration forecast_every = std::chrono::minutes{1};
  };
  static constexpr std::size_t kQueueMax = 20'000;  // entries and rounds, then it starts again
  static constexpr std::size_t kBehindMax = 16;     // rounds, then older ones are passed over
  static constexpr std::size_t kForecastJobsMax = 100'000;  // ever submitted: above, no forecasts

  explicit Shadow(Rules rules);
  ~Shadow();

  // ---- the live side; cheap, but for begin() and starting again, which copy the parts ----
  // REQUIRES: the policy can be made.
  void begin(std::string policy, Parameters parameters, const StateParts& parts, Time now);
  void end();
  void round(Time now, std::span<const Change> live);
  void take(std::span<const Entry> entries, const State& live);
  // Nothing: no policy is tried. As of a moment ago where the working side is just changing it.
  [[nodiscard]] std::optional<ShadowReport> report();
  // Called whenever there is something to work on.
  void on_work(std::function<void()> wake);

  // ---- the working side; one thread at a time ----
  // Does one piece of work. False: there is none.
  bool work();
  // Its state, equal to the live one once there is no work left. REQUIRES: a policy is tried.
  [[nodiscard]] const State& state() const;

 private:
  struct Fork {
    StateParts parts;
    Time now;
  };
  struct Round {
    Time now;
    std::vector<Change> live;
  };
  using Item = std::variant<std::unique_ptr<Fork>, Entry, Round>;
  struct Trial;

  void replace(std::optional<ShadowReport> report, std::unique_ptr<Fork> fork);
  void hand_over(const State* live);
  void wake() const;
  std::optional<Item> next_item();
  void handle(Fork& fork);
  void handle(const Entry& entry);
  void handle(const Round& round);
  void make_policies();
  Result<Plan> decide(const Snapshot& snapshot) const;
  void compare(const Round& round, const Plan& plan);
  void begin_forecast(Time now);
  void go_on_forecasting();
  void fail_round(const std::string& why);
  void tell(const std::function<void(ShadowReport&)>& change);

  const Rules rules_;

  // ---- of the live side alone ----
  std::function<void()> wake_;
  std::vector<Item> pending_;         // not handed over yet
  std::optional<ShadowReport> seen_;  // the report as it was when it could be read last

  std::mutex mutex_;  // guards what follows, and is held for moments only
  std::deque<Item> queue_;
  std::size_t rounds_queued_ = 0;
  std::uint64_t trials_ = 0;  // begun or ended so far: names the present one
  std::optional<ShadowReport> report_;

  // ---- of the working side alone ----
  std::unique_ptr<Trial> trial_;
};

}  // namespace paceline
