// Is a round needed? What happened is told here, what the last round awaits, and what its policy says
// needs none.
//
//   Wakeups wakeups(state, Protects::yes, coalesce);
//   wakeups.line_up(policy);               // at each change of the policy
//   wakeups.see(news, event);              // before the event is folded
//   wakeups.take(news, now);               // once the batch is durable and folded
//   if (wakeups.due(now)) { wakeups.begin(now); …; wakeups.end(draft.awaited()); }
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "policy/policy.hpp"

namespace paceline {

class Wakeups {
 public:
  // What of a batch a policy may answer to.
  struct News {
    bool decides = false;
    std::vector<JobId> came_up;   // a round may want to change them
    std::vector<JobId> may_wait;  // once the batch is folded: without seats, they make a round
    std::vector<JobId> made_way;  // for others; the same, if they have room
    bool frees = false;           // slots, as the last plan asked for
  };

  // REQUIRES: the state outlives it. Rounds are at least `coalesce` apart.
  Wakeups(const State& state, Protects protects, Duration coalesce)
      : state_(state), protects_(protects), coalesce_(coalesce) {}

  // Another policy is active, or the same one anew: it wants a round.
  void line_up(const Policy& policy);
  void see(News& news, const Event& event) const;
  void take(const News& news, Time now);

  [[nodiscard]] bool due(Time now);
  // When due() is true next without news; nothing: only news will do.
  [[nodiscard]] std::optional<Time> next(Time now) const;

  void begin(Time now);
  void end(const Awaited& awaited);
  // Whatever else is known, a round is wanted.
  void want() { wanted_ = true; }

  // Jobs whose next checkpoint is answered with a round, in id order; that of a job which may be
  // resized from its first checkpoint on is as well.
  [[nodiscard]] std::span<const JobId> awaited_saves() const { return saves_; }

 private:
  [[nodiscard]] bool concerns_policy(const Event& event) const;
  static void stop_goes_on(News& news, const Job& job);
  void ask_when_it_may_change(JobId job, Time now);

  const State& state_;
  Protects protects_;
  Duration coalesce_;
  std::optional<Quiet> quiet_;  // nothing: no policy is active
  LossLimits limits_;           // the active policy's
  bool wanted_ = false;
  std::vector<JobId> saves_, starts_;  // awaited, in id order
  std::optional<Time> last_round_, revisit_at_;
  std::optional<Time>
      last_plan_;  // the last round's, until something happens that it didn't ask for
};

// In id order, each once.
void sort_once(std::vector<JobId>& jobs);

}  // namespace paceline
