#include "policy/settle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "placement/defragment.hpp"
#include "plan/constraints.hpp"
#include "plan/lending.hpp"
#include "plan/reclaim.hpp"
#include "policy/harm.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

constexpr std::size_t kPrunedMax = 64;  // givers that are tried without, one by one
constexpr int kBesideMax = 64;          // jobs that are tried on what a trade frees over its first
constexpr int kBelowSharesMax = 4;      // jobs a round that others shrink for below their shares
constexpr std::int64_t kSlotsMax = std::numeric_limits<std::int64_t>::max();

// REQUIRES: it is seated.
bool stands_where_allowed(const Job& job, const Constraints& constraints) {
  const Gang& gang = job.forming ? *job.forming : *job.current;
  std::optional<NodeId> before;  // neighbours in rank mostly share a node
  return std::ranges::any_of(gang.workers, [&](const Worker& worker) {
    if (before == worker.seat.node) return false;
    before = worker.seat.node;
    return constraints.allows(*before);
  });
}

struct Giver {
  const Wish* wish;
  std::int64_t slots;  // it gives up
  Gives how;
  bool guarded;  // it has to be asked before it is stopped
  bool affords;  // to give so, by the law that protects running jobs
  bool affords_stop;
  bool asked = false;  // in this round
};

// Starts that have the same givers, for workers of as many slots.
struct Alike {
  std::string_view room;  // equal_room()
  std::int32_t slots_per_worker;
  std::int32_t priority;
  Owed owed;
  friend bool operator==(const Alike&, const Alike&) = default;
};

class Settlement {
 public:
  Settlement(const Snapshot& snapshot, Draft& draft, const Intent& intent)
      : snapshot_(snapshot), draft_(draft), intent_(intent), wishes_(intent.wishes) {
    for (const Wish& wish : wishes_) {
      all_owed_ = all_owed_ && wish.owed == Owed::yes;
      too_much_ += wish.now > wish.workers ? 1 : 0;
      somebody_shrinks_ = somebody_shrinks_ || (wish.now > wish.workers && wish.workers > 0);
    }
  }

  void run() {
    start_all();
    share_out();
  }

  // `leaves_off`: once a job fits nowhere, no later one is started.
  void start_all(bool leaves_off = false) {
    for (const Wish& wish : wishes_) {
      if (wish.now > 0 || wish.workers == 0 || draft_.changed(wish.job->id)) continue;
      if (leaves_off && !fit_nowhere_.empty()) {
        look_whether_it_fits(wish);
        continue;
      }
      const bool started = start_from_free(wish) || start_with_givers(wish) ||
                           start_by_moving(wish) || start_below_shares(wish);
      if (!started && draft_.explaining()) unserved_.push_back(&wish);
    }
  }

  void share_out() {
    for (const Wish& wish : wishes_) grow(wish);
    even_out();
    end();
  }

  void end() {
    await_saves();
    if (draft_.explaining()) say_why_waiting();
  }

  // Of the jobs that should start those that no others could make room for by shrinking.
  [[nodiscard]] const std::vector<JobId>& fit_nowhere() const { return fit_nowhere_; }

 private:
  // ---- starting ----
  [[nodiscard]] std::int32_t room_for(const Job& job, std::int64_t slots_most = kSlotsMax) const {
    const auto slots = std::min(slots_most, draft_.free_for(job.id));
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(slots / job.spec->slots_per_worker, kWorkersMax));
  }

  bool start_from_free(const Wish& wish) { return start_from_free(wish, kSlotsMax); }

  bool start_from_free(const Wish& wish, std::int64_t slots_most) {
    const std::int32_t step = wish.job->spec->mesh.step();
    const std::int32_t most = std::min(wish.workers, room_for(*wish.job, slots_most));
    for (std::int32_t n = most - most % step; n >= wish.at_least && n > 0; n -= step) {
      if (auto seats = draft_.fit(wish.job->id, n)) {
        start(wish, std::move(*seats));
        return true;
      }
    }
    return false;
  }

  static Reason in_words(const Wish& wish, Reason reason) {
    if (wish.words.empty()) return reason;
    return {ReasonCode::script, {}, std::string(wish.words)};
  }

  void start(const Wish& wish, Placement seats) {
    const auto n = static_cast<std::int32_t>(seats.size());
    Reason reason{ReasonCode::starts, {n}, {}};
    if (n < wish.most) reason = {ReasonCode::starts_at_min, {n, wish.most}, {}};
    draft_.start(wish.job->id, std::move(seats), in_words(wish, std::move(reason)));
  }

  bool start_with_givers(const Wish& wish) {
    std::int32_t& hopeless = hopeless_from(wish);
    const std::int32_t step = wish.job->spec->mesh.step();
    std::vector<Giver*> to_ask;  // for the smallest size that needs givers asked
    for (std::int32_t n = wish.workers; n >= wish.at_least && n > 0; n -= step) {
      if (n >= hopeless && draft_.kept_for() != wish.job->id) continue;
      const TradeResult tried = start_with_givers(wish, n, to_ask);
      if (tried == TradeResult::started) return true;
      if (tried == TradeResult::impossible) return ask(wish, to_ask), false;
    }
    if (to_ask.empty() && takes_any_slots(draft_, *wish.job))
      hopeless = std::min(hopeless, wish.at_least);
    return ask(wish, to_ask), false;
  }

  enum class TradeResult { started, impossible, smaller };  // the last: a smaller size may do

  TradeResult start_with_givers(const Wish& wish, std::int32_t n, std::vector<Giver*>& to_ask) {
    auto chosen = enough_givers(wish, n);
    const bool all_stop = chosen.empty() && frozen_are_in_the_way(wish);
    if (all_stop) {
      freezes_ = false;
      chosen = enough_givers(wish, n);
    }
    const TradeResult tried = trade_with(wish, n, chosen, to_ask);
    freezes_ = true;
    return tried;
  }

  TradeResult trade_with(const Wish& wish, std::int32_t n, const std::vector<Giver*>& chosen,
                         std::vector<Giver*>& to_ask) {
    if (chosen.empty()) return TradeResult::smaller;
    const auto waits = [&](const Giver* giver) { return giver->guarded && !pauses(*giver); };
    if (std::none_of(chosen.begin(), chosen.end(), waits))
      return trade(wish, n, chosen) ? TradeResult::started : TradeResult::impossible;
    to_ask.clear();
    for (Giver* giver :
         chosen)  // a job that was asked for long enough stays asked until the others were, too
      if (waits(giver) || giver->wish->job->is_asked()) to_ask.push_back(giver);
    return TradeResult::smaller;
  }

  // These givers are spoken for: a job that comes later in the order asks others.
  void ask(const Wish& wish, const std::vector<Giver*>& givers) {
    for (Giver* giver : givers) {
      giver->asked = somebody_is_asked_ = true;
      givable_ -= giver->slots;
      draft_.ask(giver->wish->job->id, wish.job->id);
    }
    if (!givers.empty() && draft_.explaining()) asked_for_.emplace(&wish, givers);
  }

  // The smallest number of workers, of this many slots each, that didn't fit even with every giver
  // to such a start. A job that wants as many need not search again.
  std::int32_t& hopeless_from(const Wish& wish) {
    const JobSpec& spec = *wish.job->spec;
    const Alike alike{equal_room(snapshot_.state, *wish.job), spec.slots_per_worker, spec.priority,
                      wish.owed};
    const auto known = std::find_if(hopeless_.begin(), hopeless_.end(),
                                    [&](const auto& entry) { return entry.first == alike; });
    if (known != hopeless_.end()) return known->second;
    return hopeless_.emplace_back(alike, kWorkersMax + 1).second;
  }

  // A frozen job keeps its memory. Where the starting job needs that, givers that could be frozen
  // are stopped.
  bool frozen_are_in_the_way(const Wish& wish) {
    return wish.job->spec->memory_bytes > 0 && somebody_pauses_;
  }

  [[nodiscard]] Part part_of(const Giver& giver) const {
    if (pauses(giver)) return {ChangeKind::pause, giver.wish->job->id, 0};
    const std::int32_t workers = giver.wish->workers;
    return {workers == 0 ? ChangeKind::stop : ChangeKind::resize, giver.wish->job->id, workers};
  }

  // The givers that together make room for n workers, least harm first; empty if all of them can't.
  //
  // Placing is dear, so the shortest prefix of the order that fits is found by halving. Halving
  // takes it that more givers never fit worse. Only as many are gathered as the slots need,
  // then twice as many each time they don't fit. `prune` drops those of the prefix that the others
  // can do without.
  std::vector<Giver*> enough_givers(const Wish& wish, std::int32_t n) {
    std::vector<Giver*> able;
    auto slots = draft_.free_for(wish.job->id);
    const std::int64_t need = wish.job->slots(n);
    auto next = first_giver();
    if (slots + givable_ < need) return {};
    const auto gather = [&](const auto& enough) {
      for (; next != givers().end() && !enough(); ++next) {
        if (has_given(*next) || !gives_to(wish, *next)) continue;
        slots += next->slots;
        able.push_back(&*next);
      }
    };
    gather([&] { return slots >= need && !able.empty(); });
    if (slots < need || able.empty()) return {};
    std::size_t low = able.size(), high = low;
    while (!fits(wish, n, able, high)) {
      low = high + 1;
      gather([&] { return able.size() >= 2 * high; });
      high = able.size();
      if (high < low) return {};
    }
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (fits(wish, n, able, middle))
        high = middle;
      else
        low = middle + 1;
    }
    able.resize(high);
    return prune(wish, n, std::move(able));
  }

  // Counts before it looks for places: most that don't fit lack slots.
  bool fits(const Wish& wish, std::int32_t n, const std::vector<Giver*>& able, std::size_t count) {
    auto slots = draft_.free_for(wish.job->id);
    for (std::size_t i = 0; i < count; ++i) slots += able[i]->slots;
    if (slots < wish.job->slots(n)) return false;
    if (fits_by_count(*wish.job, draft_)) return true;
    parts_.clear();
    for (std::size_t i = 0; i < count; ++i) parts_.push_back(part_of(*able[i]));
    return draft_.fit_if(wish.job->id, n, parts_).has_value();
  }

  // Lets off every giver that the others can do without, the last of the order first: it would be
  // hurt most.
  std::vector<Giver*> prune(const Wish& wish, std::int32_t n, std::vector<Giver*> chosen) {
    if (chosen.size() > kPrunedMax) return chosen;
    for (std::size_t i = chosen.size(); i-- > 0 && chosen.size() > 1;) {
      std::vector<Giver*> fewer = chosen;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (fits(wish, n, fewer, fewer.size())) chosen = std::move(fewer);
    }
    return chosen;
  }

  bool trade(const Wish& wish, std::int32_t n, const std::vector<Giver*>& chosen) {
    std::int64_t given = 0;
    draft_.begin_trade();
    for (const Giver* giver : chosen) {
      give_up(*giver, wish);
      given += giver->slots;
    }
    auto seats = draft_.fit(wish.job->id, n);
    if (!seats) {
      draft_.drop_trade();
      return false;
    }
    start(wish, std::move(*seats));
    start_beside(wish, given - wish.job->slots(n));
    draft_.end_trade();
    givable_ -= given;
    return true;
  }

  // Givers may free more than the first job needs. What starts on the rest belongs to the same
  // trade: it is kept or dropped with it.
  void start_beside(const Wish& first, std::int64_t rest) {
    int tried = 0;
    for (const Wish* wish = &first + 1; wish != wishes_.data() + wishes_.size(); ++wish) {
      if (rest <= 0 || tried >= kBesideMax) return;
      const bool starts = wish->now == 0 && wish->workers > 0 && !draft_.changed(wish->job->id);
      if (!starts || wish->job->slots(wish->at_least) > rest) continue;
      ++tried;
      if (start_from_free(*wish, rest)) rest -= wish->job->slots(draft_.workers(wish->job->id));
    }
  }

  [[nodiscard]] bool pauses(const Giver& giver) const {
    return freezes_ && giver.how == Gives::pauses;
  }

  // Why the starting job goes first, for the owner of one that gives: where slots are owed, the words
  // that the policy has for it.
  [[nodiscard]] std::string precedence_of(const Wish& starting) const {
    const bool told = starting.owed == Owed::yes && !starting.words.empty();
    return told ? fmt::format("is owed slots ({})", starting.words) : intent_.precedence;
  }

  void give_up(const Giver& giver, const Wish& starting) {
    const JobId beneficiary = starting.job->id;
    const std::string precedence = precedence_of(starting);
    const Job* job = giver.wish->job;
    const std::int32_t workers = giver.wish->workers;
    const auto why = [&](ReasonCode code) { return Reason{code, {beneficiary.value}, precedence}; };
    if (pauses(giver)) return draft_.pause(job->id, why(ReasonCode::pauses_for), beneficiary);
    if (workers == 0) return draft_.stop(job->id, why(ReasonCode::stops_for), beneficiary);
    auto fewer = draft_.refit(job->id, workers);
    if (!fewer) return;
    draft_.resize(
        job->id, std::move(*fewer),
        {ReasonCode::shrinks_for, {giver.wish->now, workers, beneficiary.value}, precedence},
        beneficiary);
  }

  // Enough slots are free, in the wrong places: other jobs move closer together. The search is
  // dear, so there is one a round.
  bool start_by_moving(const Wish& wish) {
    const auto free = draft_.free_for(wish.job->id);
    if (looked_for_room_ || wish.job->slots(wish.at_least) > free) return false;
    looked_for_room_ = true;
    auto room = make_room(draft_, *wish.job, wish.at_least);
    if (!room) return false;
    draft_.begin_trade();
    draft_.resize_together(std::move(room->moves),
                           {ReasonCode::moves_for, {wish.job->id.value}, {}}, wish.job->id);
    if (!may_take(*wish.job, room->seats)) return draft_.drop_trade(), false;
    start(wish, std::move(room->seats));
    draft_.end_trade();
    return true;
  }

  // Others shrink below what they should have, on machines that would serve the job: each by as few
  // steps as do, to a factor of two.
  bool start_below_shares(const Wish& wish) {
    auto intent = below_shares(wish);
    if (!intent) return false;
    const std::vector<Wish> smallest(intent->wishes.begin() + 1, intent->wishes.end());
    for (std::int32_t steps = 1;; steps *= 2) {
      bool less = false;
      for (std::size_t i = 0; i < smallest.size(); ++i) {
        const Wish& least = smallest[i];
        const std::int64_t by = std::int64_t{steps} * least.job->spec->mesh.step();
        std::int32_t& workers = intent->wishes[i + 1].workers;
        workers = by < least.now - least.workers ? least.now - static_cast<std::int32_t>(by)
                                                 : least.workers;
        less = less || workers > least.workers;
      }
      if (Settlement(snapshot_, draft_, *intent).start_with_givers(intent->wishes.front()))
        return true;
      if (!less) return false;
    }
  }

  // The job's start at its smallest size, and what others could give for it; nothing: they can't, or it
  // isn't looked at.
  std::optional<Intent> below_shares(const Wish& wish) {
    if (!intent_.smallest_first || wish.job->lends() || tried_below_shares_ == kBelowSharesMax)
      return std::nullopt;
    ++tried_below_shares_;
    const Constraints constraints(draft_.standing(), *wish.job, snapshot_.now,
                                  GivenUp{may_give_up(*wish.job, snapshot_.now)});
    if (gives_later(constraints)) return std::nullopt;
    Intent intent{.wishes = could_serve(wish, constraints), .precedence = intent_.precedence};
    intent.wishes.insert(intent.wishes.begin(), {wish.job, 0, wish.at_least, wish.at_least,
                                                 wish.most, wish.owed, wish.words});
    Settlement deepest(snapshot_, draft_, intent);
    const bool can = !deepest.enough_givers(intent.wishes.front(), wish.at_least).empty();
    if (!refused_) refused_ = deepest.refused_;
    if (can) return intent;
    // A job that may not be changed yet might make room later.
    const bool later = await_starts(constraints) || somebody_is_asked_;
    if (!later && draft_.refused().empty()) fit_nowhere_.push_back(wish.job->id);
    return std::nullopt;
  }

  void look_whether_it_fits(const Wish& wish) {
    if (tried_below_shares_ == kBelowSharesMax || draft_.fit(wish.job->id, wish.at_least)) return;
    if (draft_.explaining()) unserved_.push_back(&wish);
    if (enough_givers(wish, wish.at_least).empty()) static_cast<void>(below_shares(wish));
  }

  // The jobs that could shrink and have a worker where one of the starting job could stand. What the
  // law that protects running jobs refused already it would refuse again.
  [[nodiscard]] std::vector<Wish> could_serve(const Wish& start,
                                              const Constraints& constraints) const {
    std::vector<Wish> wishes = smallest_sizes(snapshot_, draft_, Owed::no);
    std::erase_if(wishes, [&](const Wish& wish) {
      if (draft_.refused().contains(wish.job->id) && !is_owed(start, *wish.job)) return true;
      return !stands_where_allowed(*wish.job, constraints);
    });
    return wishes;
  }

  // Does a job that has more than it should stand where it would serve, and may not be changed yet?
  [[nodiscard]] bool gives_later(const Constraints& constraints) const {
    return std::ranges::any_of(wishes_, [&](const Wish& wish) {
      const Job& job = *wish.job;
      if (wish.now <= wish.workers || draft_.changed(job.id) || !job.seated()) return false;
      const bool waits = job.state != JobState::running || draft_.refused().contains(job.id);
      return waits && stands_where_allowed(job, constraints);
    });
  }

  // Of jobs that could serve so once they are up. Are there any?
  bool await_starts(const Constraints& constraints) {
    bool any = false;
    for (const QueueKey& key : snapshot_.state.active()) {
      const Job& job = snapshot_.state.job(key.job);
      const bool comes_up = job.state == JobState::starting || job.state == JobState::resizing;
      if (!comes_up || job.spec->elastic == Elastic::no) continue;
      if (job.planned_workers() <= job.range.min || draft_.changed(job.id)) continue;
      if (!stands_where_allowed(job, constraints)) continue;
      draft_.await_start(job.id);
      any = true;
    }
    return any;
  }

  // Slots that are kept for another job, and that the movers held, are kept again once those have
  // left. This job may not start there.
  [[nodiscard]] bool may_take(const Job& job, const Placement& seats) const {
    if (draft_.kept_for() == job.id) return true;
    return std::all_of(seats.begin(), seats.end(), [&](const Seat& seat) {
      return std::all_of(seat.slots.begin(), seat.slots.end(), [&](std::uint32_t index) {
        return draft_.free().is_free({seat.node, index});
      });
    });
  }

  // ---- givers ----
  // The running jobs that have more than they should and may change now, least harm first.
  std::vector<Giver>& givers() {
    if (givers_) return *givers_;
    // Sorted by: how it gives, whether it can't afford it, how much it hurts, its place from the
    // end.
    std::vector<std::tuple<Gives, bool, Harm, std::size_t, const Wish*>> found;
    found.reserve(too_much_);
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const Wish& wish = wishes_[i];
      if (wish.now <= wish.workers || draft_.changed(wish.job->id)) continue;
      if (wish.job->state != JobState::running) {
        draft_.await_start(wish.job->id);
        continue;
      }
      if (wish.workers == 0 ? !may_stop(*wish.job) : !may_shrink(*wish.job)) continue;
      const Harm harm = harm_of(wish);
      const ChangeKind kind = kind_of(harm.how);
      const bool affords = all_owed_
                               ? draft_.affords(wish.job->id, kind)
                               : draft_.may_change(wish.job->id, kind, wish.workers, Owed::no);
      if (!affords && !refused_) refused_ = wish.job->id;
      // Where all is owed the law orders the givers and holds none back. Else a giver that it holds
      // back still serves a start that is owed. A job that has to be asked before it is stopped hears
      // of it at once, protected or not.
      const bool asked_first = wish.workers == 0 && must_be_asked(snapshot_, *wish.job);
      if (!affords && !asked_first &&
          !draft_.may_change(wish.job->id, kind, wish.workers, Owed::yes))
        continue;
      found.emplace_back(harm.how, !affords, harm, wishes_.size() - i, &wish);
    }
    std::sort(found.begin(), found.end());
    givers_.emplace();
    givers_->reserve(found.size());
    for (const auto& entry : found) {
      const Wish* wish = std::get<const Wish*>(entry);
      const Gives how = std::get<Gives>(entry);
      const bool guarded = wish->workers == 0 && must_be_asked(snapshot_, *wish->job);
      const bool affords_stop =
          how == Gives::pauses && draft_.affords(wish->job->id, ChangeKind::stop);
      const std::int64_t seats = draft_.count_seats(wish->job->id) - wish->workers;
      if (seats <= 0) continue;
      givers_->push_back({wish, seats * wish->job->spec->slots_per_worker, how, guarded,
                          !std::get<bool>(entry), affords_stop});
      givable_ += givers_->back().slots;
      somebody_pauses_ = somebody_pauses_ || how == Gives::pauses;
    }
    return *givers_;
  }

  static ChangeKind kind_of(Gives how) {
    if (how == Gives::shrinks) return ChangeKind::resize;
    return how == Gives::pauses ? ChangeKind::pause : ChangeKind::stop;
  }

  [[nodiscard]] Harm harm_of(const Wish& wish) const {
    return wish.workers > 0 ? harm_of_shrinking(snapshot_, *wish.job)
                            : harm_of_giving_all(snapshot_, *wish.job);
  }

  // A job that saves becomes a cheaper giver: then it may take the place of a giver that was too
  // dear, or of one that was asked.
  void await_saves() {
    if (!draft_.awaited().saves.empty())
      for (const Giver& giver : givers()) draft_.await_save(giver.wish->job->id);
    if (!somebody_is_asked_) return;
    for (const auto& key : snapshot_.state.active())
      if (snapshot_.state.job(key.job).begins_anew()) draft_.await_save(key.job);
  }

  // A larger priority is owed what it is short of, under every policy.
  static bool is_owed(const Wish& starting, const Job& giver) {
    return starting.owed == Owed::yes || starting.job->spec->priority > giver.spec->priority;
  }

  [[nodiscard]] bool gives_to(const Wish& starting, const Giver& giver) const {
    const bool stops = giver.how == Gives::pauses && !freezes_;
    return is_owed(starting, *giver.wish->job) || (stops ? giver.affords_stop : giver.affords);
  }

  [[nodiscard]] bool has_given(const Giver& giver) const {
    return giver.asked || draft_.changed(giver.wish->job->id);
  }

  // The first that has not given yet.
  std::vector<Giver>::iterator first_giver() {
    auto& all = givers();
    while (gave_ < all.size() && has_given(all[gave_])) ++gave_;
    return all.begin() + static_cast<std::ptrdiff_t>(gave_);
  }

  // ---- growing ----
  void grow(const Wish& wish) {
    if (wish.now == 0 || wish.workers <= wish.now || draft_.changed(wish.job->id)) return;
    const std::int32_t step = wish.job->spec->mesh.step();
    const std::int32_t room = room_for(*wish.job);
    const std::int32_t most = std::min(wish.workers, wish.now + room - room % step);
    if (most <= wish.now || !may_shrink(*wish.job)) return;
    if (!draft_.may_change(wish.job->id, ChangeKind::resize, most, Owed::no)) return;
    for (std::int32_t n = most; n > wish.now; n -= step) {
      auto more = draft_.refit(wish.job->id, n);
      if (!more && draft_.leaves_slots().contains(wish.job->id)) return;
      if (!more) continue;
      draft_.begin_trade();
      draft_.resize(wish.job->id, std::move(*more),
                    in_words(wish, {ReasonCode::grows, {wish.now, n}, {}}));
      draft_.end_trade();
      return;
    }
  }

  // Shares that are uneven among running jobs alone: one trade, kept if a job grows.
  void even_out() {
    const bool wanted = std::any_of(wishes_.begin(), wishes_.end(), [&](const Wish& wish) {
      return wish.now > 0 && wish.workers > wish.now && !draft_.changed(wish.job->id);
    });
    if (!wanted || givers().empty()) return;
    draft_.begin_trade();
    for (const Giver& giver : givers()) {
      const Wish& wish = *giver.wish;
      if (wish.workers == 0 || !giver.affords || draft_.changed(wish.job->id)) continue;
      auto fewer = draft_.refit(wish.job->id, wish.workers);
      if (!fewer) continue;
      draft_.resize(wish.job->id, std::move(*fewer),
                    {ReasonCode::shrinks_to_share, {wish.now, wish.workers}, {}});
    }
    if (grow_into_shares())
      draft_.end_trade();
    else
      draft_.drop_trade();
  }

  bool grow_into_shares() {
    bool grew = false;
    for (const Wish& wish : wishes_) {
      if (wish.now == 0 || wish.workers <= wish.now || draft_.changed(wish.job->id)) continue;
      if (wish.workers > wish.now + room_for(*wish.job) || !may_shrink(*wish.job)) continue;
      auto more = draft_.may_change(wish.job->id, ChangeKind::resize, wish.workers, Owed::no)
                      ? draft_.refit(wish.job->id, wish.workers)
                      : std::nullopt;
      if (!more) continue;
      draft_.resize(wish.job->id, std::move(*more),
                    in_words(wish, {ReasonCode::grows, {wish.now, wish.workers}, {}}));
      grew = true;
    }
    return grew;
  }

  // ---- explaining ----
  void say_why_waiting() {
    for (const Wish* wish : unserved_) {
      if (draft_.changed(wish->job->id)) continue;
      Reason reason = lacks_slots(draft_, *wish->job, wish->at_least);
      if (const auto asked = asked_for_.find(wish); asked != asked_for_.end()) {
        draft_.explain_wait(wish->job->id, waits_for_reclaim(reason, asked->second));
        continue;
      }
      if (refused_ && reason.code != ReasonCode::waits_for_own) {
        reason.code = ReasonCode::waits_for_giver;
        reason.numbers.push_back(refused_->value);
      }
      draft_.explain_wait(wish->job->id, std::move(reason));
    }
  }

  // For the one that is stopped last.
  [[nodiscard]] Reason waits_for_reclaim(const Reason& lacks,
                                         const std::vector<Giver*>& asked) const {
    const auto until = [&](const Giver* giver) {
      return may_stop_from(snapshot_, *giver->wish->job);
    };
    const Giver* last =
        *std::max_element(asked.begin(), asked.end(),
                          [&](const Giver* a, const Giver* b) { return until(a) < until(b); });
    const auto left = std::chrono::ceil<std::chrono::seconds>(until(last) - snapshot_.now);
    return {ReasonCode::waits_for_reclaim,
            {lacks.numbers.at(0), lacks.numbers.at(1), last->wish->job->id.value, left.count()},
            {}};
  }

  const Snapshot& snapshot_;
  Draft& draft_;
  const Intent& intent_;
  const std::vector<Wish>& wishes_;
  bool all_owed_ = true;  // every wish is
  std::optional<std::vector<Giver>> givers_;
  std::size_t gave_ = 0;           // the first of them have
  std::int64_t givable_ = 0;       // slots of those that have not, at most
  std::size_t too_much_ = 0;       // wishes of jobs that have it
  bool somebody_shrinks_ = false;  // as far as wishes go
  bool somebody_pauses_ = false;
  bool freezes_ = true;      // givers that can be frozen are; else they are stopped
  std::vector<Part> parts_;  // of the trade that is looked at
  bool looked_for_room_ = false;
  int tried_below_shares_ = 0;
  std::vector<JobId> fit_nowhere_;  // of those that it was tried for
  bool somebody_is_asked_ = false;
  std::map<const Wish*, std::vector<Giver*>>
      asked_for_;                      // the givers asked for each start, where that is explained
  std::optional<JobId> refused_;       // the first that has too much but may not change now
  std::vector<const Wish*> unserved_;  // should start, could not
  std::vector<std::pair<Alike, std::int32_t>> hopeless_;  // workers
};

void settle_rest(const Snapshot& snapshot, Draft& draft, const Intent& intent) {
  if (!intent.rest) return;
  start_rest(snapshot, draft, *intent.rest);
  say_why_waiting(snapshot, draft, *intent.rest);
}

}  // namespace

bool may_shrink(const Job& job) { return job.state == JobState::running && job.resizable(); }

bool may_stop(const Job& job) { return job.state == JobState::running && job.preemptible(); }

std::vector<Wish> smallest_sizes(const Snapshot& snapshot, const Draft& draft, Owed owed) {
  std::vector<Wish> wishes;
  for (const QueueKey& key : snapshot.state.active()) {
    const Job& job = snapshot.state.job(key.job);
    const std::int32_t now = job.planned_workers();
    if (now <= job.range.min || !may_shrink(job) || draft.changed(job.id)) continue;
    wishes.push_back({&job, now, job.range.min, job.range.min, job.range.max, owed});
  }
  return wishes;
}

void settle(const Snapshot& snapshot, Draft& draft, const Intent& intent) {
  Settlement(snapshot, draft, intent).run();
  settle_rest(snapshot, draft, intent);
}

std::vector<JobId> settle_unless_nowhere(const Snapshot& snapshot, Draft& draft,
                                         const Intent& intent) {
  Settlement settlement(snapshot, draft, intent);
  const bool idle = draft.free().total() > 0;
  settlement.start_all(idle);
  if (idle && !settlement.fit_nowhere().empty()) return settlement.end(), settlement.fit_nowhere();
  settlement.share_out();
  settle_rest(snapshot, draft, intent);
  return {};
}

}  // namespace paceline
