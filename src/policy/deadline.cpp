#include "policy/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "policy/pages.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLookedAtMax = 4'000;
constexpr double kForever = std::numeric_limits<double>::infinity();

// What a job with a deadline may be given, in slots.
struct Ask {
  std::int64_t own;  // that nobody else may have: of a job that may not be stopped
  std::int64_t least, most, unit;
  bool stays;  // can't be resized once it runs: makes do with nothing less than its share

  [[nodiscard]] std::int64_t floor(std::int64_t share) const { return stays ? share : least; }
  // Of a share, what there is of it where so many are free.
  [[nodiscard]] std::int64_t at_most(std::int64_t share, std::int64_t free) const {
    return share <= free ? share : free - free % unit;
  }
};

// Slots that are not granted yet and nobody's own, as a step function of the time from now on.
class Calendar {
 public:
  explicit Calendar(std::int64_t slots) : steps_{{0, kForever, slots}}, least_(slots) {}

  // The smallest size, in slots, that does `work` before `end`: progress(slots) is the work per
  // second. Where less is free the job makes do with that, if it can.
  template <class Progress>
  std::optional<std::int64_t> smallest(const Ask& ask, double work, double end,
                                       Progress progress) const {
    for (std::int64_t level = ask.least; level <= ask.most; level += ask.unit) {
      const double whole = progress(level);
      double done = 0;
      std::int64_t free = ask.own;
      for (const Step& step : steps_) {
        if (step.from >= end || done >= work) break;
        free += step.more;
        const std::int64_t here = ask.at_most(level, free);
        if (here < ask.floor(level)) continue;
        done += (std::min(end, step.until) - step.from) * (here == level ? whole : progress(here));
      }
      if (done >= work) return level;
    }
    return std::nullopt;
  }

  // From then on its own slots are nobody's, too.
  void grant(std::int64_t level, const Ask& ask, double until) {
    Step& after = step_at(until);
    const std::int64_t more = level - ask.own;
    if (more > least_) return grant_step_by_step(level, ask, until);
    steps_.front().more -= more;
    after.more += level;
    least_ -= more;
  }

  // Of `level` slots, what is there right now.
  [[nodiscard]] std::int64_t now(std::int64_t level, const Ask& ask) const {
    return ask.at_most(level, steps_.front().more + ask.own);
  }

 private:
  struct Step {
    double from, until;  // seconds
    std::int64_t more;   // slots that are free from here on, beside those free before
  };

  void grant_step_by_step(std::int64_t level, const Ask& ask, double until) {
    std::int64_t free = 0, taken = 0;  // before the step
    least_ = std::numeric_limits<std::int64_t>::max();
    for (Step& step : steps_) {
      free += step.more;
      const std::int64_t here = ask.at_most(level, free + ask.own);
      const bool serves = step.from < until && here >= ask.floor(level);
      const std::int64_t takes = (serves ? here : 0) - ask.own;
      step.more += std::exchange(taken, takes) - takes;
      least_ = std::min(least_, free - takes);
    }
  }

  // The step that begins there, from now on. It is never the first.
  Step& step_at(double at) {
    const auto next = std::upper_bound(steps_.begin(), steps_.end(), at,
                                       [](double time, const Step& s) { return time < s.from; });
    Step& before = *std::prev(next);
    if (before.from == at) return before;
    const Step after{at, std::exchange(before.until, at), 0};
    return *steps_.insert(next, after);
  }

  std::vector<Step> steps_;  // by time, the first from now on
  std::int64_t least_;       // at least so many are free at any time
};

struct Due {
  Contender contender;
  std::optional<std::size_t> running;  // its place among the contenders that run; none: it waits
  double in;                           // seconds until its deadline
  double work;                         // seconds left at the wanted size
};

void add_if_due(const Snapshot& snapshot, const Contender& contender,
                std::optional<std::size_t> running, std::vector<Due>& due) {
  const auto deadline = snapshot.state.deadline(*contender.job);
  if (!deadline || *deadline <= snapshot.now) return;
  const double left =
      length_left(*contender.job, snapshot.now, pace_now(snapshot.state.nodes(), *contender.job));
  if (std::isinf(left)) return;
  due.push_back({contender, running, to_seconds(*deadline - snapshot.now), left});
}

// The nearest deadline first. REQUIRES: the contenders are running jobs alone.
std::vector<Due> due_jobs(const Snapshot& snapshot, Shares& shares) {
  std::vector<Due> due;
  const auto& running = shares.contenders();
  for (std::size_t i = 0; i < running.size(); ++i) add_if_due(snapshot, running[i], i, due);
  const auto now = static_cast<double>(to_us(snapshot.now + snapshot.state.ahead()));
  auto walk = snapshot.state.waiting_by(kDue).walk_after({0, now, 0, {}, {}});
  for (const OrderKey* at = nullptr; (at = walk.next(shares.room())) && at->measure < kForever;) {
    const Job& job = snapshot.state.job(at->job);
    if (const auto contender = shares.waiting(job, order_key(kArrival, job)))
      add_if_due(snapshot, *contender, std::nullopt, due);
  }
  std::sort(due.begin(), due.end(), [](const Due& a, const Due& b) {
    return a.in != b.in ? a.in < b.in : a.contender.key < b.contender.key;
  });
  if (due.size() > kLookedAtMax) due.resize(kLookedAtMax);
  return due;
}

Ask ask_of(const Contender& contender) {
  return {contender.slots(contender.workers), contender.slots(contender.least),
          contender.slots(contender.most), contender.slots(contender.step),
          !contender.job->resizable()};
}

// Grants the minimum satisfactory shares. A job that gets none fails the admission test.
void grant_shares(const Snapshot& snapshot, Shares& shares) {
  Calendar calendar(shares.left());
  for (Due& job : due_jobs(snapshot, shares)) {
    Contender& contender = job.running ? shares.contenders()[*job.running] : job.contender;
    const Scaling scaling(*contender.job);
    const Ask ask = ask_of(contender);
    const auto one = contender.slots_per_worker;
    const auto share = calendar.smallest(ask, job.work, job.in, [&](std::int64_t slots) {
      const auto workers = static_cast<std::int32_t>(slots / one);
      return scaling.speed(workers) * pace(snapshot.state.nodes(), *contender.job, workers);
    });
    if (!share) continue;
    const std::int64_t now = calendar.now(*share, ask);
    calendar.grant(*share, ask, job.in);
    if (now < ask.floor(*share)) continue;
    shares.take(contender, static_cast<std::int32_t>(now / one));
    contender.least = static_cast<std::int32_t>(ask.floor(now) / one);
    if (!job.running) shares.contenders().push_back(contender);
  }
}

void take_if_it_fits(Shares& shares, Contender& contender) {
  if (contender.least_slots() <= shares.left()) shares.take(contender, contender.least);
}

// Smallest sizes for those without a share: in order of priority first running jobs, then waiting
// ones.
class Serving {
 public:
  Serving(const Snapshot& snapshot, Shares& shares, std::size_t running)
      : snapshot_(snapshot),
        shares_(shares),
        running_(running),
        walk_(snapshot.state.waiting_by(kArrival).walk()),
        waiting_(shares.next_waiting(walk_, shares.left())) {
    const auto& contenders = shares.contenders();
    for (std::size_t i = running; i < contenders.size(); ++i)
      granted_.insert(contenders[i].job->id);
  }

  void serve() {
    for (std::size_t first = 0; first < running_;) {
      const double rank = shares_.contenders()[first].key.first;
      serve_waiting_before(rank);
      first = serve_running(first, rank);
    }
    serve_waiting_before(kForever);
  }

 private:
  // Returns where others begin. Whom it would hurt most matters only if not all have room.
  std::size_t serve_running(std::size_t first, double rank) {
    auto& contenders = shares_.contenders();
    std::vector<Contender*> rest;
    std::int64_t slots = 0;
    for (; first < running_ && contenders[first].key.first == rank; ++first) {
      if (contenders[first].workers > 0) continue;
      rest.push_back(&contenders[first]);
      slots += contenders[first].least_slots();
    }
    if (slots > shares_.left()) sort_by_harm(snapshot_, rest);
    for (Contender* contender : rest) take_if_it_fits(shares_, *contender);
    return first;
  }

  void serve_waiting_before(double rank) {
    for (; waiting_ && waiting_->key.first < rank;
         waiting_ = shares_.next_waiting(walk_, shares_.left())) {
      if (granted_.contains(waiting_->job->id)) continue;
      take_if_it_fits(shares_, *waiting_);
      if (waiting_->workers > 0) shares_.contenders().push_back(*waiting_);
    }
  }

  const Snapshot& snapshot_;
  Shares& shares_;
  std::size_t running_;  // the first contenders
  WaitingOrder::Walk walk_;
  std::optional<Contender> waiting_;   // the next one
  std::unordered_set<JobId> granted_;  // waiting jobs that have a share
};

}  // namespace

PolicyInfo Deadline::info() {
  return {.name = "deadline",
          .summary = "What jobs need to meet their deadlines, nearest first; then the rest.",
          .text = policy_page("deadline"),
          .elastic = true,
          .make = make_plain<Deadline>,
          .preempts = true};
}

void Deadline::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.all_running();
  const std::size_t running = shares.contenders().size();
  grant_shares(snapshot, shares);
  Serving(snapshot, shares, running).serve();
  shares.put_in_order(running);
  shares.spread_to_largest(gain_per_slot);
  settle(snapshot, draft,
         {.wishes = shares.wishes(Owed::yes),
          .rest = Rest{kArrival, Sizes::smallest, "jobs with deadlines and older jobs"}});
}

}  // namespace paceline
