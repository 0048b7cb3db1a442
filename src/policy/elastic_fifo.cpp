#include "policy/elastic_fifo.hpp"

#include <algorithm>

#include "estimate/resize_cost.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

struct Share {
  const Job* job;
  std::int32_t now = 0;     // workers it has; 0: it waits
  std::int32_t target = 0;  // workers it should have
};

class Sharing {
 public:
  Sharing(const Snapshot& snapshot, Draft& draft) : snapshot_(snapshot), draft_(draft) {}

  void decide() {
    collect();
    set_targets();
    start_waiting();
    grow();
    even_out();
  }

 private:
  static bool resizable_now(const Job& job) { return job.state == JobState::running && job.resizable(); }

  void collect() {
    capacity_ = static_cast<std::int64_t>(draft_.free().total());
    for (const auto& key : snapshot_.state.active()) {
      const Job& job = snapshot_.state.job(key.job);
      if (draft_.changed(job.id) || !resizable_now(job)) continue;
      const std::int32_t now = job.current->size();
      if (!job.range.contains(now)) continue;
      shares_.push_back({&job, now, 0});
      capacity_ += job.slots(now);
    }
    running_ = shares_.size();
    for (const Job* job : startable(snapshot_, draft_)) shares_.push_back({job, 0, 0});
  }

  void set_targets() {
    std::int64_t left = capacity_;
    for (Share& s : shares_) {
      const std::int64_t need = s.job->slots(s.job->range.min);
      if (s.now == 0 && need > left) continue;
      s.target = s.job->range.min;
      left -= need;
    }
    std::vector<Share*> growing;
    for (Share& s : shares_) {
      if (s.target > 0) growing.push_back(&s);
    }
    const auto before = [](const Share* a, const Share* b) { return queue_key(*a->job) < queue_key(*b->job); };
    std::sort(growing.begin(), growing.end(), before);
    while (!growing.empty() && left > 0) {
      std::erase_if(growing, [&](Share* s) {
        const std::int32_t one = s->job->spec->slots_per_worker;
        if (s->target >= s->job->range.max || one > left) return true;
        ++s->target;
        left -= one;
        return false;
      });
    }
  }

  void start_waiting() {
    for (std::size_t i = running_; i < shares_.size(); ++i) {
      Share& s = shares_[i];
      if (s.target == 0 || !(start_from_free(s) || start_with_donors(s))) {
        draft_.hold(s.job->id, lacks_slots(draft_, *s.job, s.job->range.min));
      }
    }
  }

  bool start_from_free(const Share& s) {
    for (std::int32_t n = s.target; n >= s.job->range.min; --n) {
      if (auto seats = draft_.fit(s.job->id, n)) {
        draft_.start(s.job->id, std::move(*seats), start_reason(*s.job, n));
        return true;
      }
    }
    return false;
  }

  static Reason start_reason(const Job& job, std::int32_t n) {
    if (n < job.range.max) return {ReasonCode::starts_at_min, {n, job.range.max}, {}};
    return {ReasonCode::starts, {n}, {}};
  }

  // Those above their share, who has least to lose first.
  std::vector<const Share*> donors() const {
    std::vector<const Share*> found;
    for (std::size_t i = 0; i < running_; ++i) {
      if (shares_[i].now > shares_[i].target && !draft_.changed(shares_[i].job->id)) found.push_back(&shares_[i]);
    }
    const auto risk = [&](const Share* s) { return work_at_risk(*s->job, snapshot_.now); };
    std::stable_sort(found.begin(), found.end(), [&](const Share* a, const Share* b) { return risk(a) < risk(b); });
    return found;
  }

  bool start_with_donors(const Share& s) {
    draft_.begin_trade();
    std::optional<Placement> seats;
    for (const Share* donor : donors()) {
      auto fewer = draft_.refit(donor->job->id, donor->target);
      if (!fewer) continue;
      draft_.resize(donor->job->id, std::move(*fewer),
                    {ReasonCode::shrinks_for, {donor->now, donor->target, s.job->id.value}, {}}, s.job->id);
      if ((seats = draft_.fit(s.job->id, s.target))) break;
    }
    for (std::int32_t n = s.target - 1; !seats && n >= s.job->range.min; --n) seats = draft_.fit(s.job->id, n);
    if (!seats) {
      draft_.drop_trade();
      return false;
    }
    const auto n = static_cast<std::int32_t>(seats->size());
    draft_.start(s.job->id, std::move(*seats), start_reason(*s.job, n));
    return draft_.end_trade(Owed::yes);
  }

  void grow() {
    for (std::size_t i = 0; i < running_; ++i) {
      const Share& s = shares_[i];
      if (s.target > s.now && !draft_.changed(s.job->id)) grow_one(s);
    }
  }

  void grow_one(const Share& s) {
    const auto room = static_cast<std::int32_t>(draft_.free().total()) / s.job->spec->slots_per_worker;
    for (std::int32_t n = std::min(s.target, s.now + room); n > s.now; --n) {
      auto more = draft_.refit(s.job->id, n);
      if (!more) continue;
      draft_.begin_trade();
      draft_.resize(s.job->id, std::move(*more), {ReasonCode::grows, {s.now, n}, {}});
      draft_.end_trade(Owed::no);
      return;
    }
  }

  // Shares that are uneven among running jobs alone: one trade, kept only if it gains.
  void even_out() {
    const auto givers = donors();
    if (givers.empty()) return;
    draft_.begin_trade();
    for (const Share* giver : givers) {
      if (auto fewer = draft_.refit(giver->job->id, giver->target)) {
        draft_.resize(giver->job->id, std::move(*fewer), {ReasonCode::shrinks_to_share, {giver->now, giver->target}, {}});
      }
    }
    bool grew = false;
    for (std::size_t i = 0; i < running_; ++i) {
      const Share& s = shares_[i];
      if (s.target <= s.now || draft_.changed(s.job->id)) continue;
      auto more = draft_.refit(s.job->id, s.target);
      if (!more) continue;
      draft_.resize(s.job->id, std::move(*more), {ReasonCode::grows, {s.now, s.target}, {}});
      grew = true;
    }
    if (grew) draft_.end_trade(Owed::no);
    else draft_.drop_trade();
  }

  const Snapshot& snapshot_;
  Draft& draft_;
  std::vector<Share> shares_;  // running ones first, each part in arrival order
  std::size_t running_ = 0;
  std::int64_t capacity_ = 0;
};

}  // namespace

void ElasticFifo::decide(const Snapshot& snapshot, Draft& draft) const { Sharing(snapshot, draft).decide(); }

}  // namespace paceline
