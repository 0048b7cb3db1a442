// What will happen, asked for by people and answered a moment later: when jobs will start and end
// (forecast/plays.hpp), what would start one sooner, and what one would do to the others. All of it
// is played on a copy of the state, beside the rounds.
//
//   Foresight foresight({registry, placer, Protects::yes, "fifo", now});
//   foresight.ask({state, now}, [&] { foresight.newest()->jobs.at(id).start; });
//   while (foresight.work()) {}   // elsewhere
//   foresight.hand_on();          // here: calls back
//
// It has two sides that may be on two threads. The live side copies the state where it is asked, and
// never waits. What was foreseen holds until the state changes, or for kExpectedAge. The working
// side spends at most the budget on a question, and rests as long as it worked before it foresees
// anew.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "forecast/expected.hpp"
#include "policy/registry.hpp"
#include "scheduler/ahead.hpp"
#include "scheduler/lineup.hpp"
#include "scheduler/what_if.hpp"

namespace paceline {

inline constexpr Duration kExpectedAge = std::chrono::seconds{10};
inline constexpr Duration kForesightBudget = std::chrono::milliseconds{700};
inline constexpr std::size_t kQuestionsMax = 16;  // at once

class Foresight {
 public:
  struct Rules {
    const PolicyRegistry& registry;
    const Placer& placer;
    Protects protects;
    std::string last;           // the built-in policy behind all others (lineup.hpp)
    std::function<Time()> now;  // may be called by the working side
    std::function<void(Expectations&)> adjust = [](Expectations&) {};  // before they are handed on
    Duration budget = kForesightBudget;
  };

  explicit Foresight(Rules rules) : rules_(std::move(rules)) {}

  // ---- the live side; each `done` is called from hand_on(), or at once ----
  // Once newest() tells of this state; at once also where the working side rests or has too much to
  // do: newest() is from a moment ago then.
  void ask(const Snapshot& live, std::function<void()> done);
  // nullptr: nothing was foreseen yet.
  [[nodiscard]] const std::shared_ptr<const Expectations>& newest() const { return newest_; }
  // What would start the job sooner; nothing, too, where there is too much to do.
  void ask_what_ifs(const Snapshot& live, JobId job, std::function<void(std::vector<WhatIf>)> done);
  // What would happen if the job were submitted. REQUIRES: the spec was admitted. Errors:
  // unavailable: there is too much to do.
  void ask_ahead(const Snapshot& live, JobSpec spec, std::function<void(Result<Ahead>)> done);
  // Takes what the working side found and answers those that asked.
  void hand_on();
  void on_work(std::function<void()> wake) { wake_ = std::move(wake); }

  // ---- the working side; one thread at a time ----
  // Called there whenever there is something to hand on.
  void on_done(std::function<void()> done) { done_ = std::move(done); }
  // Answers one question. False: there is none.
  bool work();

 private:
  // A state as it was, for the working side alone.
  struct Present {
    StateParts parts;
    Time now;
  };
  using Tell = std::function<void()>;  // on the live side
  struct Question {
    std::shared_ptr<const Present> present;
    std::function<Tell(const Present&)> answer;
  };

  [[nodiscard]] bool holds(const Snapshot& live) const;
  [[nodiscard]] std::shared_ptr<const Present> present_of(const Snapshot& live);
  bool queue(const Snapshot& live, std::function<Tell(const Present&)> answer);
  void tell(std::shared_ptr<Expectations> found);
  [[nodiscard]] Expectations foresee(const Present& present) const;
  [[nodiscard]] Lineup lineup(const Present& present) const;

  const Rules rules_;

  // ---- of the live side alone ----
  std::function<void()> wake_;
  std::shared_ptr<const Expectations> newest_;
  std::weak_ptr<const Present> present_;  // that was asked about last
  std::vector<std::function<void()>> waiting_;
  bool asked_ = false;  // a question after all jobs is on its way
  Time asked_at_;
  Time rests_until_;

  std::mutex mutex_;  // guards what follows, and is held for moments only
  std::deque<Question> questions_;
  std::vector<Tell> answers_;

  // ---- of the working side alone ----
  std::function<void()> done_;
};

}  // namespace paceline
