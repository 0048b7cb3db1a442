#include "policy/fifo.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "estimate/remaining.hpp"
#include "policy/orders.hpp"
#include "policy/pages.hpp"
#include "policy/parameters.hpp"
#include "policy/settle.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 3> kBackfills = {"none", "greedy", "easy"};

bool start_wanted(const Snapshot& snapshot, Draft& draft, const Job& job) {
  const std::int32_t workers = wanted(snapshot.state, job);
  auto seats = draft.fit(job.id, workers);
  if (!seats) return false;
  draft.start(job.id, std::move(*seats), {ReasonCode::starts, {workers}, {}});
  return true;
}

// When the head will start, and how many slots it leaves over then.
struct HeadReservation {
  Time at = Time::max();
  std::int64_t spare = 0;
};

// `started`: by this round.
HeadReservation reserve_for_head(const Snapshot& snapshot, const Draft& draft,
                                 const std::vector<const Job*>& started, std::int64_t need) {
  std::vector<std::pair<Time, std::int64_t>> ends;
  for (const Job* job : started) {
    const std::int32_t workers = draft.workers(job->id);
    if (const auto left = remaining(snapshot.state.nodes(), *job, snapshot.now, workers))
      ends.emplace_back(snapshot.now + left->likely, job->slots(workers));
  }
  for (const auto& key : snapshot.state.active()) {
    const Job& job = snapshot.state.job(key.job);
    const auto left = remaining(snapshot.state.nodes(), job, snapshot.now);
    if (left && job.leased > 0) ends.emplace_back(snapshot.now + *left, job.leased);
  }
  std::sort(ends.begin(), ends.end());
  auto free = static_cast<std::int64_t>(draft.free().total());
  for (const auto& [at, slots] : ends) {
    free += slots;
    if (free >= need) return {at, free - need};
  }
  return {};
}

// Jobs behind the head, as long as they don't delay it.
void start_behind(const Snapshot& snapshot, Draft& draft, const std::vector<const Job*>& started,
                  const Job& head) {
  auto [at, spare] =
      reserve_for_head(snapshot, draft, started, head.slots(wanted(snapshot.state, head)));
  const auto free = [&] { return static_cast<std::int64_t>(draft.free().total()); };
  auto walk = snapshot.state.waiting_by(kArrival).walk_after(order_key(kArrival, head));
  while (const OrderKey* key = walk.next(free())) {
    const Job& job = snapshot.state.job(key->job);
    if (draft.changed(job.id) || !startable(job, snapshot, draft)) continue;
    const std::int64_t slots = job.slots(wanted(snapshot.state, job));
    const auto left = remaining(snapshot.state.nodes(), job, snapshot.now);
    const bool in_time = left && at != Time::max() && snapshot.now + *left <= at;
    if (slots > free() || !(in_time || slots <= spare)) continue;
    if (start_wanted(snapshot, draft, job) && !in_time) spare -= slots;
  }
}

}  // namespace

PolicyInfo Fifo::info() {
  return {.name = "fifo",
          .summary = "Arrival order at the wanted size; the head of the line blocks.",
          .text = policy_page("fifo"),
          .defaults = {{"backfill", "none"}},
          .make = make};
}

Result<std::unique_ptr<Policy>> Fifo::make(const Parameters& parameters) {
  std::size_t backfill = 0;
  if (auto ok = ParameterReader(parameters).word("backfill", backfill, kBackfills).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<Fifo>(static_cast<Backfill>(backfill));
}

void Fifo::decide(const Snapshot& snapshot, Draft& draft) const {
  if (backfill_ == Backfill::greedy)
    return settle(snapshot, draft, {.rest = Rest{kArrival, Sizes::wanted}});
  const Job* head = nullptr;  // the first that can't start
  std::vector<const Job*> started;
  start_in_order(snapshot, draft, [&](const Job& job) {
    const bool starts = start_wanted(snapshot, draft, job);
    starts ? started.push_back(&job) : void(head = &job);
    return starts;
  });
  if (head && backfill_ == Backfill::easy) start_behind(snapshot, draft, started, *head);
}

}  // namespace paceline
