#include "policy/elastic_fifo.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "estimate/resize_cost.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

struct Share {
  QueueKey key;
  const Job* job;
  std::int32_t now = 0;     // workers it has; 0: it waits
  std::int32_t target = 0;  // workers it should have
};

class Sharing {
 public:
  Sharing(const Snapshot& snapshot, Draft& draft) : snapshot_(snapshot), draft_(draft) {}

  void decide() {
    take_running();
    take_waiting();
    spread_the_rest();
    start_waiting();
    grow();
    even_out();
    if (draft_.explaining()) say_who_waits();
  }

 private:
  // ---- shares ----
  void take_running() {
    left_ = static_cast<std::int64_t>(draft_.free().total());
    for (const auto& key : snapshot_.state.active()) {
      const Job& job = snapshot_.state.job(key.job);
      if (job.state != JobState::running || !job.resizable() || draft_.changed(job.id)) continue;
      const std::int32_t now = job.current->size();
      if (!job.range.contains(now)) continue;
      shares_.push_back({key, &job, now, job.range.min});
      left_ += job.slots(now - job.range.min);
    }
    running_ = shares_.size();
  }

  void take_waiting() {
    for (const auto& key : snapshot_.state.waiting()) {
      if (left_ <= 0) return;
      const Job& job = snapshot_.state.job(key.job);
      const std::int64_t need = job.slots(job.range.min);
      if (!startable(job, snapshot_, draft_) || need > left_) continue;
      shares_.push_back({key, &job, 0, job.range.min});
      left_ -= need;
    }
  }

  void spread_the_rest() {
    std::vector<Share*> growing;
    for (Share& s : shares_) growing.push_back(&s);
    const auto before = [](const Share* a, const Share* b) { return a->key < b->key; };
    std::inplace_merge(growing.begin(), growing.begin() + static_cast<std::ptrdiff_t>(running_),
                       growing.end(), before);
    while (!growing.empty() && left_ > 0) {
      std::erase_if(growing, [&](Share* s) {
        const std::int32_t one = s->job->spec->slots_per_worker;
        if (s->target >= s->job->range.max || one > left_) return true;
        ++s->target;
        left_ -= one;
        return false;
      });
    }
  }

  // ---- starting ----
  void start_waiting() {
    for (std::size_t i = running_; i < shares_.size(); ++i) {
      const Share& s = shares_[i];
      if (!start_from_free(*s.job, s.target) && !start_with_donors(s)) unserved_.insert(s.job->id);
    }
    if (!unserved_.empty()) fill_up();
  }

  // Those who can't start where slots are free keep nobody else from them.
  void fill_up() {
    for (const auto& key : snapshot_.state.waiting()) {
      if (draft_.free().total() == 0) return;
      const Job& job = snapshot_.state.job(key.job);
      if (!draft_.changed(job.id) && startable(job, snapshot_, draft_))
        start_from_free(job, job.range.min);
    }
  }

  std::int32_t room_for(const Job& job) const {
    const auto room =
        draft_.free().total() / static_cast<std::uint64_t>(job.spec->slots_per_worker);
    return static_cast<std::int32_t>(std::min<std::uint64_t>(room, kWorkersMax));
  }

  bool start_from_free(const Job& job, std::int32_t most) {
    for (std::int32_t n = std::min(most, room_for(job)); n >= job.range.min; --n) {
      if (auto seats = draft_.fit(job.id, n)) {
        start(job, std::move(*seats));
        return true;
      }
    }
    return false;
  }

  void start(const Job& job, Placement seats) {
    const auto n = static_cast<std::int32_t>(seats.size());
    Reason reason{ReasonCode::starts, {n}, {}};
    if (n < job.range.max) reason = {ReasonCode::starts_at_min, {n, job.range.max}, {}};
    draft_.start(job.id, std::move(seats), std::move(reason));
  }

  bool start_with_donors(const Share& s) {
    const auto [hopeless, first] =
        hopeless_.try_emplace(s.job->spec->slots_per_worker, kWorkersMax + 1);
    if (s.job->range.min >= hopeless->second) return false;
    draft_.begin_trade();
    std::optional<Placement> seats;
    for (std::size_t i = first_donor(); i < donors().size() && !seats; ++i) {
      const Share& donor = *donors()[i];
      if (draft_.changed(donor.job->id)) continue;
      shrink(donor, {ReasonCode::shrinks_for, {donor.now, donor.target, s.job->id.value}, {}},
             s.job->id);
      seats = draft_.fit(s.job->id, s.target);
    }
    for (std::int32_t n = s.target - 1; !seats && n >= s.job->range.min; --n)
      seats = draft_.fit(s.job->id, n);
    if (!seats) {
      draft_.drop_trade();
      hopeless->second = s.job->range.min;
      return false;
    }
    start(*s.job, std::move(*seats));
    return draft_.end_trade(Owed::yes);
  }

  void shrink(const Share& donor, Reason reason, std::optional<JobId> beneficiary) {
    auto fewer = draft_.refit(donor.job->id, donor.target);
    if (fewer) draft_.resize(donor.job->id, std::move(*fewer), std::move(reason), beneficiary);
  }

  // Running jobs above their share that may change now, who has least to lose first.
  const std::vector<const Share*>& donors() {
    if (donors_) return *donors_;
    std::vector<std::pair<double, const Share*>> found;
    for (std::size_t i = 0; i < running_; ++i) {
      const Share& s = shares_[i];
      if (s.now <= s.target || draft_.changed(s.job->id)) continue;
      if (draft_.may_change(s.job->id, s.target, Owed::yes))
        found.emplace_back(work_at_risk(*s.job, snapshot_.now), &s);
      else if (!refused_)
        refused_ = s.job->id;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    donors_.emplace();
    for (const auto& [risk, donor] : found) donors_->push_back(donor);
    return *donors_;
  }

  std::size_t first_donor() {
    while (first_donor_ < donors().size() && draft_.changed(donors()[first_donor_]->job->id))
      ++first_donor_;
    return first_donor_;
  }

  // ---- growing ----
  void grow() {
    for (std::size_t i = 0; i < running_; ++i) {
      const Share& s = shares_[i];
      const std::int32_t most = std::min(s.target, s.now + room_for(*s.job));
      if (most <= s.now || draft_.changed(s.job->id) ||
          !draft_.may_change(s.job->id, most, Owed::no))
        continue;
      grow_one(s, most);
    }
  }

  void grow_one(const Share& s, std::int32_t most) {
    for (std::int32_t n = most; n > s.now; --n) {
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
    if (donors().empty()) return;
    draft_.begin_trade();
    for (const Share* giver : donors()) {
      if (draft_.changed(giver->job->id)) continue;
      shrink(*giver, {ReasonCode::shrinks_to_share, {giver->now, giver->target}, {}}, {});
    }
    bool grew = false;
    for (std::size_t i = 0; i < running_; ++i) {
      const Share& s = shares_[i];
      if (s.target <= s.now || s.target > s.now + room_for(*s.job) || draft_.changed(s.job->id))
        continue;
      auto more = draft_.may_change(s.job->id, s.target, Owed::yes)
                      ? draft_.refit(s.job->id, s.target)
                      : std::nullopt;
      if (!more) continue;
      draft_.resize(s.job->id, std::move(*more), {ReasonCode::grows, {s.now, s.target}, {}});
      grew = true;
    }
    if (grew)
      draft_.end_trade(Owed::no);
    else
      draft_.drop_trade();
  }

  // ---- explaining ----
  void say_who_waits() {
    for (const auto& key : snapshot_.state.waiting()) {
      const Job& job = snapshot_.state.job(key.job);
      if (draft_.changed(job.id) || !startable(job, snapshot_, draft_)) continue;
      Reason reason = lacks_slots(draft_, job, job.range.min);
      if (refused_ && unserved_.contains(job.id)) {
        reason.code = ReasonCode::waits_for_donor;
        reason.numbers.push_back(refused_->value);
      }
      draft_.hold(job.id, std::move(reason));
    }
  }

  const Snapshot& snapshot_;
  Draft& draft_;
  std::vector<Share> shares_;  // running ones first, then waiting ones whose minimum fits, each
                               // part in arrival order
  std::size_t running_ = 0;
  std::int64_t left_ = 0;  // slots that no share has yet
  std::optional<std::vector<const Share*>> donors_;
  std::size_t first_donor_ = 0;
  std::optional<JobId> refused_;  // the first who has too much but may not change now
  std::set<JobId> unserved_;      // their minimum fits, but they could not start
  std::map<std::int32_t, std::int32_t>
      hopeless_;  // per slots of a worker: so many workers don't fit even with every donor
};

}  // namespace

void ElasticFifo::decide(const Snapshot& snapshot, Draft& draft) const {
  Sharing(snapshot, draft).decide();
}

}  // namespace paceline
