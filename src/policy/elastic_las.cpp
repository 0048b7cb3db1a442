#include "policy/elastic_las.hpp"

#include <algorithm>

#include "policy/pages.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

// Every job that can be resized may have any size of its range.
void widen(Shares& shares) {
  for (Contender& contender : shares.contenders()) {
    if (contender.now > 0 && !may_shrink(*contender.job)) continue;
    contender.least = contender.job->range.min;
    contender.most = contender.job->range.max;
    const bool over_wish = contender.workers > contender.job->range.want;
    if (contender.now > 0 && over_wish) shares.take(contender, contender.job->range.want);
  }
}

// To shrink is less than to stop.
void keep_smallest(Shares& shares) {
  for (Contender& contender : shares.contenders()) {
    const bool fits = contender.least_slots() <= shares.left();
    if (contender.now > 0 && contender.workers == 0 && fits)
      shares.take(contender, contender.least);
  }
}

void compact(Shares& shares, const AttainedService& service) {
  for (Contender& contender : shares.contenders()) {
    const bool lower = contender.workers > contender.least && service.queue(*contender.job) > 0;
    if (lower && contender.least > 0) shares.take(contender, contender.least);
  }
}

}  // namespace

PolicyInfo ElasticLas::info() {
  return {.name = "elastic-las",
          .summary = "Least attained service, compacted under load, the rest to the largest gain.",
          .text = policy_page("elastic-las"),
          .elastic = true,
          .defaults = {{"queues", "5"}, {"threshold", "3600"}, {"promote", "8"}, {"pending", "10"}},
          .make = make,
          .preempts = true};
}

Result<std::unique_ptr<Policy>> ElasticLas::make(const Parameters& parameters) {
  std::int64_t pending = 0;
  auto las = read_las(parameters);
  if (!las) return fail(las.error());
  if (auto ok = ParameterReader(parameters).whole("pending", pending, 0, 1'000'000).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<ElasticLas>(*las, pending);
}

void ElasticLas::decide(const Snapshot& snapshot, Draft& draft) const {
  AttainedService service(snapshot, draft, parameters_);
  Shares shares(snapshot, draft, service.order(), Sizes::wanted);
  shares.all_in_order({.apart = service.apart(), .all_contend = true});
  widen(shares);
  keep_smallest(shares);
  const auto starts = std::count_if(shares.contenders().begin(), shares.contenders().end(),
                                    [](const Contender& c) { return c.now == 0 && c.workers > 0; });
  if (static_cast<std::int64_t>(snapshot.state.waiting().size()) - starts > pending_) {
    compact(shares, service);
    keep_smallest(shares);
    shares.admit_more(Sizes::smallest);
  }
  shares.spread_to_largest(gain_per_slot);
  settle(snapshot, draft,
         {.wishes = shares.wishes(),
          .precedence = "had less service",
          .rest = Rest{service.order(), Sizes::smallest, "jobs that had less service"}});
  service.revisit();
}

}  // namespace paceline
