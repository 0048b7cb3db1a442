#include "policy/patient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "estimate/remaining.hpp"
#include "plan/lending.hpp"
#include "policy/orders.hpp"
#include "policy/settle.hpp"

namespace paceline {
namespace {

constexpr std::string_view kServed =
    "served";  // memo: the jobs that were served, and until when each is protected
constexpr std::size_t kServedMax = 64;
// Jobs that nothing can be kept for, before no more are tried: of one user, and in all.
constexpr int kTriesOfOneMax = 3;
constexpr int kTriesMax = 64;
constexpr int kBackfillsMax = 64;  // jobs that are tried on kept slots
constexpr int kRenewalsMax = 16;   // beyond which a reservation holds no longer still
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Served {
  JobId job;
  Time until;
};

std::string text_of(const std::vector<Served>& served) {
  std::string text;
  for (const auto& [job, until] : served) text += fmt::format("{}@{} ", job.value, to_us(until));
  return text;
}

std::vector<Served> read_served(std::string_view text) {
  std::vector<Served> served;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    Served one;
    std::int64_t until = 0;
    const auto job = std::from_chars(at, end, one.job.value);
    if (job.ec != std::errc{} || job.ptr == end || *job.ptr != '@') break;
    const auto time = std::from_chars(job.ptr + 1, end, until);
    if (time.ec != std::errc{} || time.ptr == end) break;
    one.until = time_from_us(until);
    served.push_back(one);
    at = time.ptr + 1;
  }
  return served;
}

// One round's pass, before the policy decides and after.
class Pass {
 public:
  Pass(const Snapshot& snapshot, Draft& draft, const Patience& patience,
       const Patient::Traits& traits)
      : snapshot_(snapshot),
        state_(snapshot.state),
        draft_(draft),
        patience_(patience),
        traits_(traits) {}

  void before() {
    draft_.keep_line();
    protect_served();
    serve_first();
    if (!draft_.memo(kReservation).empty() && !draft_.kept_for())
      draft_.remember(std::string(kReservation), "");
  }

  void after() {
    if (draft_.explaining()) say_why_waiting();
    if (traits_.fills) fill_kept();
  }

 private:
  // ---- jobs that were served ----
  void protect_served() {
    for (const Served& one : read_served(draft_.memo(kServed))) {
      const Job* job = state_.find_job(one.job);
      const bool is_protected = one.until > snapshot_.now;
      if (job == nullptr || !job->seated() || !(is_protected || traits_.stays)) continue;
      served_.push_back(one);
      served_slots_ += job->slots(job->planned_workers());
      if (is_protected) draft_.protect(one.job, one.until);
    }
  }

  // Otherwise no other job is served before a served one may be stopped again, or ends.
  bool may_serve(const Job& job) {
    const auto most = kServedPart * static_cast<double>(state_.slots_available());
    const auto then = static_cast<double>(served_slots_ + job.slots(size_of(job)));
    if (served_.empty() || (then <= most && served_.size() < kServedMax)) return true;
    if (traits_.stays) return false;
    const auto first =
        std::min_element(served_.begin(), served_.end(),
                         [](const Served& a, const Served& b) { return a.until < b.until; });
    draft_.revisit(first->until);
    return false;
  }

  void note_served(const Job& job) {
    served_.push_back({job.id, snapshot_.now + patience_.of(job)});
    draft_.remember(std::string(kServed), text_of(served_));
  }

  // ---- the job to serve ----
  void serve_first() {
    const WaitingOrder& order = state_.waiting_by(patience_.order());
    const std::int64_t slots = state_.slots_available();
    auto walk = order.walk();
    std::map<std::string_view, int> tries_of;
    for (int tries = 0; tries < kTriesMax;) {
      const OrderKey* key = walk.next(slots);
      if (key == nullptr) return;
      const Job& job = state_.job(key->job);
      const Time at = patience_.runs_out(job);
      if (at > snapshot_.now) {
        draft_.revisit(at);
        walk = order.walk_after({key->first, kInfinity, kInfinity, Time::max(), JobId{}});
        continue;
      }
      int& of_owner = tries_of[job.spec->user];
      if (draft_.changed(job.id) || of_owner >= kTriesOfOneMax) continue;
      if (!may_serve(job) || serve(job)) return;
      ++of_owner;
      ++tries;
    }
  }

  // The size that it is owed.
  [[nodiscard]] std::int32_t size_of(const Job& job) const {
    if (!traits_.elastic || frozen_workers(job)) return wanted(state_, job);
    return job.range.min;
  }

  bool serve(const Job& job) {
    if (start(job) || start_by_shrinking(job)) {
      note_served(job);
      return true;
    }
    return keep_slots(job);
  }

  [[nodiscard]] std::string how_long(const Job& job) const {
    const auto since = std::max(job.waiting_since, job.eligible_at);
    return fmt::format("had waited for {:.0f} min", to_seconds(snapshot_.now - since) / 60);
  }

  bool start(const Job& job) {
    const std::int32_t step = job.spec->mesh.step();
    for (std::int32_t n = wanted(state_, job); n >= size_of(job) && n > 0; n -= step) {
      auto seats = draft_.fit(job.id, n);
      if (!seats) continue;
      Reason reason{ReasonCode::starts, {n}, how_long(job)};
      if (traits_.elastic && n < job.range.max)
        reason = {ReasonCode::starts_at_min, {n, job.range.max}, how_long(job)};
      draft_.start(job.id, std::move(*seats), std::move(reason));
      return true;
    }
    return false;
  }

  bool start_by_shrinking(const Job& job) {
    if (!traits_.elastic || frozen_workers(job)) return false;
    const std::int32_t least = job.range.min;
    std::vector<Wish> wishes = smallest_sizes(snapshot_, draft_, Owed::yes);
    std::int64_t slots = draft_.free_for(job.id);
    for (const Wish& other : wishes) slots += other.job->slots(other.now - other.workers);
    if (slots < job.slots(least)) return false;
    wishes.insert(wishes.begin(), {&job, 0, wanted(state_, job), least, job.range.max, Owed::yes});
    settle(snapshot_, draft_, {.wishes = std::move(wishes), .precedence = how_long(job)});
    return draft_.changed(job.id);
  }

  // ---- keeping ----
  // Where all of them are free and it does not fit, neighbours are in the way.
  bool keep_slots(const Job& job) {
    auto kept = Reservation::parse(draft_.memo(kReservation));
    const bool same =
        kept && kept->job == job.id && kept->workers == size_of(job) && holds(state_, *kept);
    if (!same) {
      kept = reserve(draft_, job, size_of(job));
    } else if (outlook(draft_, kept->slots).free == kept->slots.size()) {
      auto whole = reserve(draft_, job, size_of(job), Keeps::nodes);
      const bool other = !whole || whole->slots != kept->slots;
      if (other)
        kept = std::move(whole);
      else
        renew_in_time(job, *kept);
    } else {
      renew_in_time(job, *kept);
    }
    if (!kept) return false;
    draft_.revisit(kept->since + stays_for(job, *kept));
    draft_.remember(std::string(kReservation), kept->text());
    draft_.keep(job.id, kept->slots);
    if (traits_.fills) protect_jobs_that_leave_in_time(*kept);
    kept_ = std::move(kept);
    return true;
  }

  // Jobs that were let in on the kept slots meanwhile: stopped for others they would leave the
  // slots unused, and start there again at once.
  void protect_jobs_that_leave_in_time(const Reservation& kept) {
    for (const SlotId slot : kept.slots) {
      const auto holder = occupant(state_.slot(slot));
      const Job* job = holder ? state_.find_job(*holder) : nullptr;
      if (job == nullptr || !job->seated()) continue;
      const Gang& gang = job->forming ? *job->forming : *job->current;
      if (gang.formed_at >= kept.since && leaves_by(*job, gang.size(), kept.due))
        draft_.protect(job->id, kept.due);
    }
  }

  [[nodiscard]] bool leaves_by(const Job& job, std::int32_t workers, Time at) const {
    const auto left = remaining(state_.nodes(), job, snapshot_.now, workers);
    return left && snapshot_.now + left->likely <= at;
  }

  [[nodiscard]] Duration stays_for(const Job& job, const Reservation& kept) const {
    return patience_.of(job) * (std::int64_t{1} << std::min(kept.renewals, kRenewalsMax));
  }

  void renew_in_time(const Job& job, Reservation& kept) const {
    if (kept.since + stays_for(job, kept) <= snapshot_.now) renew(job, kept);
  }

  void renew(const Job& job, Reservation& kept) const {
    const Outlook old = outlook(draft_, kept.slots);
    auto other = reserve(draft_, job, kept.workers);
    if (other && is_better(outlook(draft_, other->slots), old))
      kept.slots = std::move(other->slots);
    kept.due = outlook(draft_, kept.slots).at.value_or(Time{});
    kept.since = snapshot_.now;
    ++kept.renewals;
  }

  // Of two that wait for unknown ends the one whose youngest job is younger: what has run for long
  // is likely to go on for long.
  static bool is_better(const Outlook& a, const Outlook& b) {
    if (a.at && b.at) return *a.at < *b.at;
    if (a.at || b.at) return a.at.has_value();
    return b.youngest_unknown < a.youngest_unknown;
  }

  // ---- jobs that are gone before the kept slots were to be free: that time stays, however
  // estimates change ----
  void fill_kept() {
    if (!kept_ || !draft_.kept_for()) return;
    if (kept_->due <= snapshot_.now) return;
    draft_.open_kept();
    auto walk = state_.waiting_by(kArrival).walk();
    const auto free = [&] { return static_cast<std::int64_t>(draft_.free().total()); };
    int tried = 0;
    while (const OrderKey* key = walk.next(free())) {
      const Job& job = state_.job(key->job);
      if (job.id == kept_->job || draft_.changed(job.id) || !startable(job, snapshot_, draft_))
        continue;
      if (++tried > kBackfillsMax) return;
      start_in_time(job, kept_->due);
    }
  }

  void start_in_time(const Job& job, Time at) {
    const std::int32_t step = job.spec->mesh.step();
    for (std::int32_t n = wanted(state_, job); n >= size_of(job) && n > 0; n -= step) {
      if (!leaves_by(job, n, at)) return;
      auto seats = draft_.fit(job.id, n);
      if (!seats) continue;
      return draft_.start(job.id, std::move(*seats),
                          {ReasonCode::starts, {n}, "ends before slots kept here are needed"});
    }
  }

  // ---- explaining ----
  void say_why_waiting() {
    for (const auto& [job, first] : draft_.leaves_slots()) {
      if (draft_.changed(job)) continue;
      const Job& grows = state_.job(job);
      draft_.explain_wait(
          job,
          {ReasonCode::leaves_slots, {grows.current->size(), grows.range.max, first.value}, {}});
    }
    const auto kept_for = draft_.kept_for();
    if (!kept_ || !kept_for) return;
    const auto free = static_cast<std::int64_t>(draft_.free().total());
    for (const QueueKey& key : state_.waiting()) {
      const Job& job = state_.job(key.job);
      const bool lacks =
          job.slots(size_of(job)) <= draft_.free_for(*kept_for) && job.eligible_at <= snapshot_.now;
      if (draft_.changed(job.id) || job.id == *kept_for || !lacks) continue;
      draft_.explain_wait(
          job.id,
          {ReasonCode::waits_for_patient, {job.slots(size_of(job)), free, kept_for->value}, {}});
    }
    const Outlook look = outlook(draft_, kept_->slots);
    draft_.explain_wait(*kept_for,
                        {ReasonCode::waits_for_kept,
                         {static_cast<std::int64_t>(kept_->slots.size()),
                          static_cast<std::int64_t>(look.free), look.last ? look.last->value : 0},
                         {}});
  }

  const Snapshot& snapshot_;
  const State& state_;
  Draft& draft_;
  const Patience& patience_;
  const Patient::Traits& traits_;
  std::vector<Served> served_;  // and protected
  std::int64_t served_slots_ = 0;
  std::optional<Reservation> kept_;
};

}  // namespace

void Patient::decide(const Snapshot& snapshot, Draft& draft) const {
  (void)try_decide(snapshot, draft);
}

// Where a policy failed before this one, its patience counted already.
Result<void> Patient::try_decide(const Snapshot& snapshot, Draft& draft) const {
  const bool nobody_waits = snapshot.state.waiting().empty();
  if (nobody_waits && !draft.memo(kReservation).empty())
    draft.remember(std::string(kReservation), "");
  if (nobody_waits || draft.line_kept()) return policy_->try_decide(snapshot, draft);
  Pass pass(snapshot, draft, patience_, traits_);
  pass.before();
  auto decided = policy_->try_decide(snapshot, draft);
  if (decided) pass.after();
  return decided;
}

bool is_protected(const Snapshot& snapshot, JobId job) {
  const auto found = snapshot.state.memo().find(std::string(kServed));
  if (found == snapshot.state.memo().end()) return false;
  const auto served = read_served(found->second);
  return std::any_of(served.begin(), served.end(),
                     [&](const Served& one) { return one.job == job && one.until > snapshot.now; });
}

std::optional<Reservation> reservation(const State& state) {
  const auto found = state.memo().find(std::string(kReservation));
  if (found == state.memo().end()) return std::nullopt;
  return Reservation::parse(found->second);
}

}  // namespace paceline
