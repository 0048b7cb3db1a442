#include "policy/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLookedAtMax = 4'000;

// What a job with a deadline may be given, in slots.
struct Ask {
  std::int64_t least, most, unit;
  bool stays;  // can't be resized once it runs: makes do with nothing less than its share

  [[nodiscard]] std::int64_t floor(std::int64_t share) const { return stays ? share : least; }
};

// Slots that are granted already, as a step function of the time from now on.
class Calendar {
 public:
  explicit Calendar(std::int64_t slots) : steps_{{0, slots}} {}

  // The smallest size, in slots, that does `work` before `end`: progress(slots) is the work per
  // second. Where less is free the job makes do with that, if it can.
  template <class Progress>
  std::optional<std::int64_t> smallest(const Ask& ask, double work, double end,
                                       Progress progress) const {
    for (std::int64_t level = ask.least; level <= ask.most; level += ask.unit) {
      double done = 0;
      for (std::size_t i = 0; i < steps_.size() && steps_[i].from < end && done < work; ++i) {
        const std::int64_t here = steps_[i].at_most(level, ask.unit);
        if (here < ask.floor(level)) continue;
        const double until = i + 1 < steps_.size() ? std::min(end, steps_[i + 1].from) : end;
        done += (until - steps_[i].from) * progress(here);
      }
      if (done >= work) return level;
    }
    return std::nullopt;
  }

  void grant(std::int64_t level, const Ask& ask, double until) {
    split(until);
    for (Step& step : steps_) {
      if (step.from >= until) return;
      const std::int64_t here = step.at_most(level, ask.unit);
      if (here >= ask.floor(level)) step.free -= here;
    }
  }

  // Of `level` slots, what is there right now.
  [[nodiscard]] std::int64_t now(std::int64_t level, std::int64_t unit) const {
    return steps_.front().at_most(level, unit);
  }

 private:
  struct Step {
    double from;  // seconds
    std::int64_t free;

    [[nodiscard]] std::int64_t at_most(std::int64_t level, std::int64_t unit) const {
      return level <= free ? level : free - free % unit;
    }
  };

  void split(double at) {
    const auto next = std::upper_bound(steps_.begin(), steps_.end(), at,
                                       [](double time, const Step& s) { return time < s.from; });
    const Step before = *std::prev(next);
    if (before.from < at) steps_.insert(next, {at, before.free});
  }

  std::vector<Step> steps_;  // by time, the first from now on
};

struct Due {
  Contender* contender;
  double in;    // seconds until its deadline
  double work;  // seconds left at the wanted size
};

std::vector<Due> due_jobs(const Snapshot& snapshot, std::vector<Contender>& contenders) {
  std::vector<Due> due;
  for (Contender& contender : contenders) {
    const auto deadline = snapshot.state.deadline(*contender.job);
    if (!deadline || *deadline <= snapshot.now) continue;
    const double left = length_left(*contender.job, snapshot.now);
    if (std::isinf(left)) continue;
    due.push_back({&contender, to_seconds(*deadline - snapshot.now), left});
  }
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.in < b.in; });
  if (due.size() > kLookedAtMax) due.resize(kLookedAtMax);
  return due;
}

Ask ask_of(const Contender& contender) {
  const Job& job = *contender.job;
  return {job.slots(contender.least), job.slots(contender.most), job.slots(contender.step()),
          !job.resizable()};
}

// Grants the minimum satisfactory shares. A job that gets none fails the admission test.
void grant_shares(const Snapshot& snapshot, Shares& shares) {
  Calendar calendar(shares.left());
  for (const Due& job : due_jobs(snapshot, shares.contenders())) {
    Contender& contender = *job.contender;
    if (contender.workers > 0) continue;
    const Scaling scaling(*contender.job);
    const Ask ask = ask_of(contender);
    const auto one = contender.job->spec->slots_per_worker;
    const auto share = calendar.smallest(ask, job.work, job.in, [&](std::int64_t slots) {
      return scaling.speed(static_cast<std::int32_t>(slots / one));
    });
    if (!share) continue;
    const std::int64_t now = calendar.now(*share, ask.unit);
    calendar.grant(*share, ask, job.in);
    if (now < ask.floor(*share)) continue;
    shares.take(contender, static_cast<std::int32_t>(now / one));
    contender.least = static_cast<std::int32_t>(ask.floor(now) / one);
  }
}

// The jobs without a share, in the order in which they are served.
std::vector<Contender*> the_rest(const Snapshot& snapshot, Shares& shares) {
  std::vector<Contender*> rest;
  for (Contender& contender : shares.contenders())
    if (contender.workers == 0) rest.push_back(&contender);
  sort_by_harm(snapshot, rest);
  return rest;
}

}  // namespace

void Deadline::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.all_jobs();
  grant_shares(snapshot, shares);
  for (Contender* contender : the_rest(snapshot, shares)) {
    if (contender->job->slots(contender->least) <= shares.left())
      shares.take(*contender, contender->least);
  }
  shares.spread_to_largest(gain_per_slot);
  settle(snapshot, draft,
         {.wishes = shares.wishes(Owed::yes),
          .rest = Rest{kArrival, Sizes::smallest, "jobs with deadlines and older jobs"}});
}

}  // namespace paceline
