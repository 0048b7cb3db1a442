#include "policy/elastic_las.hpp"

#include <algorithm>

#include "policy/parameters.hpp"
#include "policy/service.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

// Everybody who can be resized may have any size of its range.
void widen(Shares& shares) {
  for (Contender& claim : shares.claims()) {
    if (claim.now > 0 && !may_shrink(*claim.job)) continue;
    claim.least = claim.job->range.min;
    claim.most = claim.job->range.max;
    const bool over_wish = claim.workers > claim.job->range.want;
    if (claim.now > 0 && over_wish) shares.take(claim, claim.job->range.want);
  }
}

// To shrink is less than to stop.
void keep_smallest(Shares& shares) {
  for (Contender& claim : shares.claims()) {
    const bool fits = claim.job->slots(claim.least) <= shares.left();
    if (claim.now > 0 && claim.workers == 0 && fits) shares.take(claim, claim.least);
  }
}

void compact(Shares& shares, const Service& service) {
  for (Contender& claim : shares.claims()) {
    const bool lower = claim.workers > claim.least && service.queue(*claim.job) > 0;
    if (lower && claim.least > 0) shares.take(claim, claim.least);
  }
}

}  // namespace

Result<std::unique_ptr<Policy>> ElasticLas::make(const Parameters& parameters) {
  std::int64_t pending = 0;
  auto las = read_las(parameters);
  if (!las) return fail(las.error());
  if (auto ok = ParameterReader(parameters).whole("pending", pending, 0, 1'000'000).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<ElasticLas>(*las, pending);
}

void ElasticLas::decide(const Snapshot& snapshot, Draft& draft) const {
  Service service(snapshot, draft, parameters_);
  Shares shares(snapshot, draft, service.order(), Sizes::wanted);
  RunningKeys running = service.running();
  running.all = true;
  shares.all_in_order(running, service.apart());
  widen(shares);
  keep_smallest(shares);
  const auto starts = std::count_if(shares.claims().begin(), shares.claims().end(),
                                    [](const Contender& c) { return c.now == 0 && c.workers > 0; });
  if (static_cast<std::int64_t>(snapshot.state.waiting().size()) - starts > pending_) {
    compact(shares, service);
    keep_smallest(shares);
    shares.admit_more(Sizes::smallest);
  }
  shares.spread_to_largest(gain_per_slot);
  settle(snapshot, draft, shares.wishes(), {Owed::no, "had less service"});
  fill(snapshot, draft, service.order(), Sizes::smallest);
  service.revisit();
  say_who_waits(snapshot, draft, Sizes::smallest, "jobs that had less service");
}

}  // namespace paceline
