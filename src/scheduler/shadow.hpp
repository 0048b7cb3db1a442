// A candidate policy in the shadow of the live one: it decides every live round on the snapshot
// that the live one decided on, without effect, and a forecast from time to time says what it would
// change.
//
//   Shadow shadow({registry, placer, Protects::yes, "fifo", read});
//   shadow.resume(state, now);             // once the server has recovered
//   shadow.round({state, now}, changes);   // of the live round, before its entries are folded
//   shadow.take(entries, state);           // every durable batch, once it is folded
//   while (shadow.work()) {}               // elsewhere, later: decides, compares, forecasts
//   shadow.report()->differed
//
// The journal says which policy is tried, since when and until when (State::trial); what is counted
// here begins anew with every server.
//
// It has two sides that may be on two threads. The live side only queues what is new, and never
// waits: what can't be handed over at once is handed over the next time. work() has a state of its
// own: it reads the journal's fold once, while the live side writes, and folds the same entries
// from there. When it falls behind, rounds are passed over and counted; when it falls far behind,
// it reads anew.
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
  Time counted_since;                       // what follows: `since`, or the server's last start
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
    Protects protects;
    std::string last;  // the built-in policy behind all others (lineup.hpp)
    // The fold of every durable entry. Called by the working side.
    std::function<Result<State>()> read;
    Duration forecast_every = std::chrono::minutes{1};
    // What the two decide differently is worth a forecast sooner.
    Duration forecast_after_difference = std::chrono::seconds{5};
  };
  static constexpr std::size_t kQueueMax = 20'000;  // entries and rounds, then it reads anew
  static constexpr std::size_t kBehindMax = 16;     // rounds, then older ones are passed over
  static constexpr std::size_t kForecastJobsMax = 100'000;  // not over: above, no forecasts

  explicit Shadow(Rules rules);
  ~Shadow();

  // ---- the live side; costs what is handed over ----
  // Begins the trial that the state tells of, or none.
  void resume(const State& live, Time now);
  void round(const Snapshot& live, std::span<const Change> changes);
  void take(std::span<const Entry> entries, const State& live);
  // Nothing: no policy is tried. As of a moment ago where the working side is just changing it.
  [[nodiscard]] std::optional<ShadowReport> report();
  // Called whenever there is something to work on.
  void on_work(std::function<void()> wake);

  // ---- the working side; one thread at a time ----
  // Does one piece of work. False: there is none.
  bool work();
  // Its state: once there is no work left the live one, but for what counts anew
  // (Job::service_from), which are the candidate's. REQUIRES: a policy is tried, and the journal
  // could be read.
  [[nodiscard]] const State& state() const;

 private:
  struct Reading {};  // of the state, anew
  struct Round {
    Time now;
    std::uint64_t seq = 0;  // of the state that it was decided on
    std::vector<Change> live;
  };
  using Item = std::variant<Reading, Entry, Round>;
  struct Trial;

  static std::size_t rounds_in(const std::vector<Item>& items);
  void hand_over();
  void hand_over_locked();
  void wake() const;
  std::optional<Item> next_item();
  void begin_trial();
  void handle(const Reading& reading);
  void handle(const Entry& entry);
  void handle(const Round& round);
  void fold(const Entry& entry);
  void make_policies();
  [[nodiscard]] bool passes_over(const Round& round);
  Result<Plan> decide(const Snapshot& snapshot) const;
  bool compare(const Round& round, const Plan& plan);
  void begin_forecast(Time now, Duration apart);
  void go_on_forecasting();
  void fail_round(const std::string& why);
  void tell(const std::function<void(ShadowReport&)>& change);

  const Rules rules_;

  // ---- of the live side alone ----
  std::function<void()> wake_;
  std::vector<Item> pending_;         // not handed over yet
  bool lost_ = false;                 // some of it is gone
  std::size_t rounds_lost_ = 0;       // of that
  bool replaced_ = false;             // `seen_` tells of another trial, or of none any more
  std::optional<ShadowReport> seen_;  // the report as it was when it could be read last

  std::mutex mutex_;  // guards what follows, and is held for moments only; the live side only tries
  std::deque<Item> queue_;
  std::size_t rounds_queued_ = 0;
  bool anew_ = false;  // the state is to be read; what is queued, and comes until then, is in it
  std::uint64_t trials_ = 0;  // begun or ended so far: names the present one
  std::optional<ShadowReport> report_;

  // ---- of the working side alone ----
  std::unique_ptr<Trial> trial_;
};

}  // namespace paceline
