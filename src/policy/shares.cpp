#include "policy/shares.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_set>
#include <utility>

#include "base/sort_again.hpp"
#include "estimate/scaling.hpp"
#include "plan/lending.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

constexpr std::size_t kChangesUsual = 64;  // in one round

bool goes_first(const Contender& a, const Contender& b) { return a.key < b.key; }

}  // namespace

Shares::Shares(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes,
               std::vector<JobId> left_out)
    : snapshot_(snapshot),
      draft_(draft),
      order_(order),
      sizes_(sizes),
      left_(static_cast<std::int64_t>(draft.free().total())),
      kept_for_(draft.kept_for()),
      kept_(kept_for_ ? draft.free_for(*kept_for_) - left_ : 0),
      left_out_(std::move(left_out)) {}

Contender Shares::contender_of_running(const Row& row, const OrderKey& key) const {
  Contender contender{.job = row.job,
                      .key = key,
                      .now = row.workers,
                      .most = row.workers,
                      .least = row.workers,
                      .step = row.step,
                      .slots_per_worker = row.slots_per_worker};
  if (sizes_ == Sizes::wanted || !row.resizable) return contender;
  contender.most = row.range.max;
  contender.least = row.range.min;
  return contender;
}

Contender Shares::contender_of_waiting(const Job& job, const OrderKey& key) const {
  Contender contender{.job = &job,
                      .key = key,
                      .step = job.spec->mesh.step(),
                      .slots_per_worker = job.spec->slots_per_worker};
  if (sizes_ == Sizes::wanted || frozen_workers(job)) {
    contender.least = contender.most = wanted(snapshot_.state, job);
  } else {
    contender.least = job.range.min;
    contender.most = job.range.max;
  }
  return contender;
}

void Shares::take(Contender& contender, std::int32_t workers) {
  left_ -= contender.slots(workers - contender.workers);
  contender.workers = workers;
}

bool Shares::takes_part(const Row& row, bool stoppable) const {
  if (!draft_.changes().empty() && draft_.changed(row.job->id)) return false;
  return row.resizable || (stoppable && row.preemptible);
}

bool Shares::may_start(const Job& job) const {
  return std::ranges::find(left_out_, job.id) == left_out_.end() &&
         startable(job, snapshot_, draft_);
}

// What running jobs hold is counted as left: each takes it back, or another job does. A job that
// may not be stopped takes its smallest size before all others.
void Shares::add_running(bool stoppable) {
  const RunningLine line(snapshot_, order_, {});
  contenders_.reserve(line.ranks().size() + kChangesUsual);
  for (const RunningLine::Rank& rank : line.ranks()) {
    const Row& row = *line.row(rank);
    if (!takes_part(row, stoppable)) continue;
    Contender& contender = contenders_.emplace_back(contender_of_running(row, line.key(rank)));
    left_ += row.slots;
    if (!stoppable || !row.preemptible) take(contender, contender.least);
  }
}

std::optional<Contender> Shares::waiting(const Job& job, const OrderKey& key) {
  if (!may_start(job)) return std::nullopt;
  return contender_of_waiting(job, key);
}

std::optional<Contender> Shares::next_waiting(WaitingOrder::Walk& walk, std::int64_t slots) {
  while (const OrderKey* at = walk.next(slots)) {
    if (auto contender = waiting(snapshot_.state.job(at->job), *at)) return contender;
  }
  return std::nullopt;
}

void Shares::admit_more(Sizes sizes) {
  sizes_ = sizes;
  std::unordered_set<JobId> counted;
  for (const Contender& contender : contenders_) {
    if (contender.now == 0) counted.insert(contender.job->id);
  }
  auto walk = snapshot_.state.waiting_by(order_).walk();
  while (auto contender = next_waiting(walk, room())) {
    if (!counted.contains(contender->job->id) && give_least(*contender))
      contenders_.push_back(*contender);
  }
}

void Shares::all_running() {
  add_running(true);
  await_back_offs();
}

// There is a round once a job may start, whether or not the rule looks at it.
void Shares::await_back_offs() {
  const auto now = static_cast<double>(to_us(snapshot_.now));
  auto walk = snapshot_.state.waiting_by(kEligible).walk_after({0, now, 0, {}, {}});
  while (next_waiting(walk, room())) continue;
}

void Shares::all_that_could_start() {
  add_running(true);
  add_waiting(left_);
}

// In order, until their smallest sizes fill the room.
void Shares::add_waiting(std::int64_t slots) {
  const std::size_t running = contenders_.size();
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(slots, 0));  // of one slot each
  contenders_.reserve(running + std::min(most, snapshot_.state.waiting().size()));
  auto walk = snapshot_.state.waiting_by(order_).walk();
  while (slots > 0) {
    const auto contender = next_waiting(walk, room());
    if (!contender) break;
    contenders_.push_back(*contender);
    slots -= contender->least_slots();
  }
  put_in_order(running);
}

void Shares::put_in_order(std::size_t running) {
  const auto middle = contenders_.begin() + static_cast<std::ptrdiff_t>(running);
  sort_again(middle, contenders_.end(), goes_first);
  std::inplace_merge(contenders_.begin(), middle, contenders_.end(), goes_first);
}

void Shares::running_first() {
  add_running(false);
  const std::size_t running = contenders_.size();
  admit_more(sizes_);
  put_in_order(running);
}

// Merges the running jobs with the waiting ones, in one order. Of the waiting ones only those are
// looked at that still fit in what is left: a round costs what it changes, not what waits.
void Shares::all_in_order(const InOrder& how) {
  const bool all = how.all_contend || sizes_ != Sizes::wanted;
  const RunningLine line(snapshot_, order_, how.apart);
  free_running(line.rows());
  contenders_.reserve(all ? line.ranks().size() : kChangesUsual);
  std::unordered_set<JobId> elsewhere;  // in the order
  for (const OrderKey& key : how.apart) elsewhere.insert(key.job);
  auto walk = snapshot_.state.waiting_by(order_).walk();
  const OrderKey* at = walk.next(left_ + kept_);
  const auto admit = [&](const OrderKey& key) {
    const Job& job = snapshot_.state.job(key.job);
    if (!elsewhere.empty() && elsewhere.contains(job.id)) return;
    if (!may_start(job)) return;
    Contender contender = contender_of_waiting(job, key);
    if (give_least(contender)) contenders_.push_back(contender);
  };
  for (const RunningLine::Rank& rank : line.ranks()) {
    for (; at != nullptr && line.comes_before(*at, rank); at = walk.next(left_ + kept_)) admit(*at);
    if (line.row(rank))
      add_in_order(line, rank, all);
    else
      add_apart(line.key(rank));
  }
  for (; at != nullptr; at = walk.next(left_ + kept_)) admit(*at);
}

void Shares::add_in_order(const RunningLine& line, const RunningLine::Rank& rank, bool all) {
  const Row& row = *line.row(rank);
  if (!takes_part(row, true)) return;
  if (!all && (!row.preemptible || row.slots <= left_)) {
    if (row.preemptible) left_ -= row.slots;
    return;
  }
  Contender contender = contender_of_running(row, line.key(rank));
  if (row.preemptible)
    give_least(contender);
  else
    contender.workers = contender.least;
  contenders_.push_back(contender);
}

void Shares::add_apart(const OrderKey& key) {
  const Job& job = snapshot_.state.job(key.job);
  Contender contender = contender_of_waiting(job, key);
  if (may_start(job)) give_least(contender);
  contenders_.push_back(contender);
}

// What running jobs hold is counted as left, except the smallest sizes of jobs that can't be
// stopped.
void Shares::free_running(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (!takes_part(row, true)) continue;
    left_ += row.slots;
    if (!row.preemptible) left_ -= contender_of_running(row, row.key).least_slots();
  }
}

// What is kept for the job comes on top of what is left, which never counted it: it is added once,
// when the job has its size.
bool Shares::give_least(Contender& contender) {
  std::int64_t none = 0;
  std::int64_t& own = contender.job->id == kept_for_ ? kept_ : none;
  if (contender.least_slots() > left_ + own) return false;
  take(contender, contender.least);
  left_ += std::exchange(own, 0);
  return true;
}

bool Shares::growable(const Contender& contender) const {
  return contender.workers > 0 && contender.workers + contender.step <= contender.most &&
         contender.slots(contender.step) <= left_;
}

void Shares::spread_in_turn() {
  std::vector<Contender*> growing;
  for (Contender& contender : contenders_) growing.push_back(&contender);
  while (!growing.empty() && left_ > 0) {
    std::erase_if(growing, [&](Contender* contender) {
      if (!growable(*contender)) return true;
      take(*contender, contender->workers + contender->step);
      return false;
    });
  }
}

// A gain changes only with its own contender's size, so that each has one entry, made anew when it
// took a step. One whose step no longer fits leaves: `left_` never grows.
void Shares::spread_to_largest(const std::function<double(const Contender&)>& gain) {
  struct NextStep {
    double gain;
    const OrderKey* key;
    std::size_t index;
    bool operator<(const NextStep& o) const {
      return gain != o.gain ? gain < o.gain : *o.key < *key;
    }
  };
  std::priority_queue<NextStep> heap;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    if (growable(contenders_[i])) heap.push({gain(contenders_[i]), &contenders_[i].key, i});
  }
  while (!heap.empty() && left_ > 0) {
    const NextStep top = heap.top();
    heap.pop();
    Contender& contender = contenders_[top.index];
    if (top.gain <= 0) return;
    if (!growable(contender)) continue;
    take(contender, contender.workers + contender.step);
    if (growable(contender)) heap.push({gain(contender), &contender.key, top.index});
  }
}

std::vector<Wish> Shares::wishes(Owed owed) const {
  std::vector<Wish> wishes;
  wishes.reserve(contenders_.size());
  for (const Contender& contender : contenders_) {
    if (contender.now == contender.workers) continue;
    wishes.push_back({contender.job, contender.now, contender.workers,
                      std::min(contender.least, contender.workers), contender.most, owed});
  }
  return wishes;
}

void divide(const Snapshot& snapshot, Draft& draft, const Order& order,
            const std::function<void(Shares&)>& rule, Intent intent) {
  const auto wishes = [&](std::vector<JobId> left_out) {
    Shares shares(snapshot, draft, order, Sizes::smallest, std::move(left_out));
    rule(shares);
    return shares.wishes();
  };
  intent.smallest_first = true;
  intent.wishes = wishes({});
  auto nowhere = settle_unless_nowhere(snapshot, draft, intent);
  if (nowhere.empty()) return;
  intent.wishes = wishes(std::move(nowhere));
  settle(snapshot, draft, intent);
}

std::vector<Harm> sort_by_harm(const Snapshot& snapshot, std::vector<Contender*>& contenders) {
  struct Place {
    double first;  // of its key
    bool waits;
    Harm harm;
    std::size_t index;
    Contender* contender;

    bool operator<(const Place& o) const {
      if (first != o.first) return first < o.first;
      if (waits != o.waits) return o.waits;
      const auto more = harm <=> o.harm;
      return more != 0 ? more > 0 : index < o.index;
    }
  };
  std::vector<Place> places;
  places.reserve(contenders.size());
  for (Contender* contender : contenders) {
    const bool waits = contender->now == 0;
    places.push_back({contender->key.first, waits,
                      waits ? Harm{} : harm_of_giving_all(snapshot, *contender->job), places.size(),
                      contender});
  }
  std::sort(places.begin(), places.end());
  std::vector<Harm> harms;
  harms.reserve(places.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contenders[i] = places[i].contender;
    harms.push_back(places[i].harm);
  }
  return harms;
}

double gain_per_slot(const Contender& contender) {
  const Scaling scaling(*contender.job);
  const double gain =
      scaling.speed(contender.workers + contender.step) - scaling.speed(contender.workers);
  return gain / scaling.speed(1) / static_cast<double>(contender.slots(contender.step));
}

}  // namespace paceline
