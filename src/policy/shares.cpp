#include "policy/shares.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <unordered_set>
#include <utility>

#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "plan/lending.hpp"
#include "policy/harm.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

constexpr std::size_t kChangesUsual = 64;  // in one round

double same(const Job&, const Order::Parameters&) { return 0; }
// Of a job that runs: as of its last change.
double length(const Job& job, const Order::Parameters&) { return length_left(job, Time{}); }

std::int32_t whole_steps(const Job& job, std::int32_t workers) {
  return workers - workers % job.spec->mesh.step();
}

bool goes_first(const Contender& a, const Contender& b) { return a.key < b.key; }

}  // namespace

const Order kArrival{same, least_slots};
const Order kShortest{length, least_slots, nullptr, {}, length_slope};

std::int64_t least_slots(const Job& job) { return job.slots(job.range.min); }

Shares::Shares(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes)
    : snapshot_(snapshot),
      draft_(draft),
      order_(order),
      sizes_(sizes),
      left_(static_cast<std::int64_t>(draft.free().total())),
      kept_for_(draft.kept_for()),
      kept_(kept_for_ ? draft.free_for(*kept_for_) - left_ : 0) {}

Contender Shares::claim_of_running(const Row& row, const OrderKey& key) const {
  const Job& job = *row.job;
  Contender claim{&job, key, row.workers, 0, row.workers, row.workers};
  if (sizes_ == Sizes::wanted || !row.resizable) return claim;
  claim.most = job.range.max;
  claim.least = job.range.min;
  return claim;
}

Contender Shares::claim_of_waiting(const Job& job, const OrderKey& key) const {
  Contender claim{&job, key, 0, 0, 0, 0};
  if (sizes_ == Sizes::wanted || frozen_workers(job)) {
    claim.least = claim.most = wanted(snapshot_.state, job);
  } else {
    claim.least = job.range.min;
    claim.most = job.range.max;
  }
  return claim;
}

void Shares::take(Contender& claim, std::int32_t workers) {
  left_ -= claim.job->slots(workers - claim.workers);
  claim.workers = workers;
}

bool Shares::takes_part(const Row& row, bool stoppable) const {
  if (!draft_.changes().empty() && draft_.changed(row.job->id)) return false;
  return row.resizable || (stoppable && row.preemptible);
}

// What running jobs hold is counted as left: they take it, or somebody else does. Who may not be
// stopped takes its smallest size before anybody else.
void Shares::claim_running(bool stoppable) {
  claims_.reserve(snapshot_.state.active().size());
  if (order_.slope) {
    for (const Row& row : snapshot_.state.running_by(order_).rows()) claim_running(row, stoppable);
    return;
  }
  for (const auto& key : snapshot_.state.active()) {  // in arrival order already
    const auto row = RunningTable::row_of(order_, snapshot_.state.job(key.job));
    if (row) claim_running(*row, stoppable);
  }
}

void Shares::claim_running(const Row& row, bool stoppable) {
  if (!takes_part(row, stoppable)) return;
  OrderKey key = row.key;
  key.measure = std::max(0.0, row.measure(snapshot_.now));
  Contender& claim = claims_.emplace_back(claim_of_running(row, key));
  left_ += row.slots;
  if (!stoppable || !row.preemptible) take(claim, claim.least);
}

void Shares::admit_more(Sizes sizes) {
  sizes_ = sizes;
  std::unordered_set<JobId> claimed;
  for (const Contender& claim : claims_) {
    if (claim.now == 0) claimed.insert(claim.job->id);
  }
  auto walk = snapshot_.state.waiting_by(order_).walk();
  while (const OrderKey* at = walk.next(left_ + kept_)) {
    const Job& job = snapshot_.state.job(at->job);
    if (claimed.contains(job.id) || !startable(job, snapshot_, draft_)) continue;
    Contender claim = claim_of_waiting(job, *at);
    if (give_least(claim)) claims_.push_back(claim);
  }
}

void Shares::everybody() {
  claim_running(true);
  claim_waiting(std::numeric_limits<std::int64_t>::max());
}

void Shares::all_who_could() {
  claim_running(true);
  claim_waiting(left_);
}

// In order, until their smallest sizes fill the room.
void Shares::claim_waiting(std::int64_t room) {
  const auto running = static_cast<std::ptrdiff_t>(claims_.size());
  auto walk = snapshot_.state.waiting_by(order_).walk();
  while (room > 0) {
    const OrderKey* at = walk.next(left_ + kept_);
    if (at == nullptr) break;
    const Job& job = snapshot_.state.job(at->job);
    if (!startable(job, snapshot_, draft_)) continue;
    claims_.push_back(claim_of_waiting(job, *at));
    room -= job.slots(claims_.back().least);
  }
  const auto middle = claims_.begin() + running;
  if (!std::is_sorted(claims_.begin(), middle, goes_first))
    std::sort(claims_.begin(), middle, goes_first);
  std::inplace_merge(claims_.begin(), middle, claims_.end(), goes_first);
}

void Shares::running_first() {
  claim_running(false);
  admit_more(sizes_);
  std::sort(claims_.begin(), claims_.end(), goes_first);
}

void Shares::all_in_order() { all_in_order({order_}, {}); }

// A merge of who runs and who waits; of the latter only those are looked at that still fit. Of who
// keeps the size that it wants nobody asks more, unless all are asked for.
void Shares::all_in_order(const RunningKeys& keys, const std::vector<OrderKey>& apart) {
  const bool all = keys.all || sizes_ != Sizes::wanted;
  const RunningLine line(snapshot_, keys, apart);
  free_running(line.rows());
  claims_.reserve(all ? line.ranks().size() : kChangesUsual);
  std::unordered_set<JobId> elsewhere;  // in the order
  for (const OrderKey& key : apart) elsewhere.insert(key.job);
  auto walk = snapshot_.state.waiting_by(order_).walk();
  const OrderKey* at = walk.next(left_ + kept_);
  const auto admit = [&](const OrderKey& key) {
    const Job& job = snapshot_.state.job(key.job);
    if (!elsewhere.empty() && elsewhere.contains(job.id)) return;
    if (!startable(job, snapshot_, draft_)) return;
    Contender claim = claim_of_waiting(job, key);
    if (give_least(claim)) claims_.push_back(claim);
  };
  for (const RunningLine::Rank& rank : line.ranks()) {
    for (; at != nullptr && line.comes_before(*at, rank); at = walk.next(left_ + kept_)) admit(*at);
    if (line.row(rank))
      claim_in_order(line, rank, all);
    else
      claim_apart(line.key(rank));
  }
  for (; at != nullptr; at = walk.next(left_ + kept_)) admit(*at);
}

void Shares::claim_in_order(const RunningLine& line, const RunningLine::Rank& rank, bool all) {
  const Row& row = *line.row(rank);
  if (!takes_part(row, true)) return;
  if (!all && (!row.preemptible || row.slots <= left_)) {
    if (row.preemptible) left_ -= row.slots;
    return;
  }
  Contender claim = claim_of_running(row, line.key(rank));
  if (row.preemptible)
    give_least(claim);
  else
    claim.workers = claim.least;
  claims_.push_back(claim);
}

void Shares::claim_apart(const OrderKey& key) {
  const Job& job = snapshot_.state.job(key.job);
  Contender claim = claim_of_waiting(job, key);
  if (startable(job, snapshot_, draft_)) give_least(claim);
  claims_.push_back(claim);
}

// What running jobs hold is counted as left, but for what those keep who can't be stopped.
void Shares::free_running(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (!takes_part(row, true)) continue;
    left_ += row.slots;
    if (!row.preemptible) left_ -= row.job->slots(claim_of_running(row, row.key).least);
  }
}

bool Shares::give_least(Contender& claim) {
  std::int64_t none = 0;
  std::int64_t& own = claim.job->id == kept_for_ ? kept_ : none;
  if (claim.job->slots(claim.least) > left_ + own) return false;
  take(claim, claim.least);
  left_ += std::exchange(own, 0);
  return true;
}

bool Shares::growable(const Contender& claim) const {
  return claim.workers > 0 && claim.workers + claim.step() <= claim.most &&
         claim.job->slots(claim.step()) <= left_;
}

void Shares::spread_in_turn() {
  std::vector<Contender*> growing;
  for (Contender& claim : claims_) growing.push_back(&claim);
  while (!growing.empty() && left_ > 0) {
    std::erase_if(growing, [&](Contender* claim) {
      if (!growable(*claim)) return true;
      take(*claim, claim->workers + claim->step());
      return false;
    });
  }
}

void Shares::spread_to_largest(const std::function<double(const Contender&)>& gain) {
  struct Candidate {
    double gain;
    const OrderKey* key;
    std::size_t index;
    bool operator<(const Candidate& o) const {
      return gain != o.gain ? gain < o.gain : *o.key < *key;
    }
  };
  std::priority_queue<Candidate> heap;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (growable(claims_[i])) heap.push({gain(claims_[i]), &claims_[i].key, i});
  }
  while (!heap.empty() && left_ > 0) {
    const Candidate top = heap.top();
    heap.pop();
    Contender& claim = claims_[top.index];
    if (top.gain <= 0) return;
    if (!growable(claim)) continue;
    take(claim, claim.workers + claim.step());
    if (growable(claim)) heap.push({gain(claim), &claim.key, top.index});
  }
}

std::vector<Wish> Shares::wishes() const {
  std::vector<Wish> wishes;
  wishes.reserve(claims_.size());
  for (const Contender& claim : claims_) {
    if (claim.now == claim.workers) continue;
    wishes.push_back(
        {claim.job, claim.now, claim.workers, std::min(claim.least, claim.workers), claim.most});
  }
  return wishes;
}

void sort_by_harm(const Snapshot& snapshot, std::vector<Contender*>& claims) {
  struct Place {
    std::int32_t negative_priority;
    bool waits;
    Harm harm;
    std::size_t index;
    Contender* claim;

    bool operator<(const Place& o) const {
      if (negative_priority != o.negative_priority) return negative_priority < o.negative_priority;
      if (waits != o.waits) return o.waits;
      return harm != o.harm ? o.harm < harm : index < o.index;
    }
  };
  std::vector<Place> places;
  places.reserve(claims.size());
  for (Contender* claim : claims) {
    const bool waits = claim->now == 0;
    places.push_back({claim->key.negative_priority, waits,
                      waits ? Harm{} : harm_of_giving_all(snapshot, *claim->job), places.size(),
                      claim});
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i] = places[i].claim;
}

double gain_per_slot(const Contender& claim) {
  const Scaling scaling(*claim.job);
  const double gain = scaling.speed(claim.workers + claim.step()) - scaling.speed(claim.workers);
  return gain / scaling.speed(1) / static_cast<double>(claim.job->slots(claim.step()));
}

void fill(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes) {
  std::map<std::int32_t, std::int32_t> hopeless;  // per slots of a worker: so many don't fit
  const auto free = [&] { return static_cast<std::int64_t>(draft.free().total()); };
  if (free() == 0) return;
  auto walk = snapshot.state.waiting_by(order).walk();
  while (const OrderKey* at = walk.next(free())) {
    const Job& job = snapshot.state.job(at->job);
    if (draft.changed(job.id) || !startable(job, snapshot, draft)) continue;
    const std::int32_t n = sizes == Sizes::wanted || frozen_workers(job)
                               ? wanted(snapshot.state, job)
                               : whole_steps(job, job.range.min);
    auto& limit = hopeless.try_emplace(job.spec->slots_per_worker, kWorkersMax + 1).first->second;
    if (job.slots(n) > free() || n >= limit) continue;
    auto seats = draft.fit(job.id, n);
    if (seats) {
      const bool partly = sizes == Sizes::smallest && n < job.range.max;
      draft.start(job.id, std::move(*seats),
                  partly ? Reason{ReasonCode::starts_at_min, {n, job.range.max}, {}}
                         : Reason{ReasonCode::starts, {n}, {}});
    } else if (takes_any_slots(job)) {
      limit = std::min(limit, n);
    }
  }
}

void say_who_waits(const Snapshot& snapshot, Draft& draft, Sizes sizes, const std::string& others) {
  if (!draft.explaining()) return;
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (draft.changed(job.id) || draft.holds().contains(job.id)) continue;
    if (!startable(job, snapshot, draft)) continue;
    const auto n = sizes == Sizes::wanted ? wanted(snapshot.state, job) : job.range.min;
    Reason reason = lacks_slots(draft, job, n);
    if (!others.empty() && reason.code == ReasonCode::waits_for_slots) {
      reason.code = ReasonCode::waits_for_others;
      reason.text = others;
    }
    draft.hold(job.id, std::move(reason));
  }
}

}  // namespace paceline
