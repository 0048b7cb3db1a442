#include "policy/fair.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "policy/harm.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

struct Tenant {
  std::string name;
  double weight = 1;
  double slots = 0;                // it has so far
  std::vector<Contender*> claims;  // its jobs, in its own order
  std::size_t next = 0;            // the first that was not looked at
};

// The neediest first: who has least for its weight. Of several who have equally little, where their
// next jobs differ: who would have one of its jobs stopped, the largest harm first; then by name.
struct Rank {
  double share;
  bool waits;
  Harm harm;
  std::string_view name;

  bool operator<(const Rank& o) const {
    if (share != o.share) return share < o.share;
    if (waits != o.waits) return o.waits;
    return harm != o.harm ? o.harm < harm : name < o.name;
  }
};

class Filling {
 public:
  Filling(const Snapshot& snapshot, Shares& shares, const std::map<std::string, double>& weights)
      : snapshot_(snapshot), shares_(shares) {
    count_the_unchangeable(snapshot, weights);
    for (Contender& claim : shares.claims()) {
      Tenant& tenant = tenant_of(claim.job->spec->user, weights);
      tenant.slots += static_cast<double>(claim.job->slots(claim.workers));
      tenant.claims.push_back(&claim);
    }
  }

  void run() {
    std::map<std::string, std::vector<Contender*>> arrived;
    for (auto& [name, tenant] : tenants_) {
      arrived[name] = tenant.claims;
      sort_by_harm(snapshot_, tenant.claims);
    }
    serve([this](Tenant& tenant) { return give_smallest(tenant); });
    admitting_ = false;
    for (auto& [name, tenant] : tenants_) {
      tenant.claims = std::move(arrived[name]);
      tenant.next = 0;
    }
    serve([this](Tenant& tenant) { return give_step(tenant); });
  }

  // In the order in which they were served: who is furthest below its share comes first.
  [[nodiscard]] std::vector<Wish> wishes() const {
    std::vector<Wish> wishes;
    const auto add = [&](const Contender& c) {
      wishes.push_back({c.job, c.now, c.workers, std::min(c.least, c.workers), c.most});
    };
    for (const Contender* claim : served_) add(*claim);
    for (const Contender& claim : shares_.claims()) {
      if (claim.now > 0 && claim.now != claim.workers) add(claim);
    }
    return wishes;
  }

 private:
  Tenant& tenant_of(const std::string& user, const std::map<std::string, double>& weights) {
    const auto [at, fresh] = tenants_.try_emplace(user);
    if (fresh) {
      at->second.name = user;
      const auto weight = weights.find(user);
      if (weight != weights.end()) at->second.weight = weight->second;
    }
    return at->second;
  }

  // What jobs hold that can't be changed now counts for their tenants all the same.
  void count_the_unchangeable(const Snapshot& snapshot,
                              const std::map<std::string, double>& weights) {
    const auto& claims = shares_.claims();  // of running jobs in the order of those that are active
    auto claim = claims.begin();
    for (const auto& key : snapshot.state.active()) {
      while (claim != claims.end() && claim->now == 0) ++claim;
      if (claim != claims.end() && claim->job->id == key.job) {
        ++claim;
        continue;
      }
      const Job& job = snapshot.state.job(key.job);
      tenant_of(job.spec->user, weights).slots += job.slots(job.planned_workers());
    }
  }

  // The neediest tenant is served until nobody takes anything any more.
  void serve(const std::function<bool(Tenant&)>& give) {
    std::set<std::pair<Rank, Tenant*>> needy;
    for (auto& [name, tenant] : tenants_) needy.insert({rank_of(tenant), &tenant});
    while (!needy.empty() && shares_.left() > 0) {
      Tenant& tenant = *needy.begin()->second;
      needy.erase(needy.begin());
      if (give(tenant)) needy.insert({rank_of(tenant), &tenant});
    }
  }

  // By the first of its jobs that has nothing yet.
  [[nodiscard]] Rank rank_of(Tenant& tenant) const {
    auto& next = tenant.next;
    const auto served = [&] { return tenant.claims[next]->workers > 0; };
    Rank rank{tenant.slots / tenant.weight, true, {}, tenant.name};
    if (!admitting_) return rank;
    while (next < tenant.claims.size() && served()) ++next;
    if (next == tenant.claims.size() || tenant.claims[next]->now == 0) return rank;
    rank.waits = false;
    rank.harm = harm_of_giving_all(snapshot_, *tenant.claims[next]->job);
    return rank;
  }

  bool give_smallest(Tenant& tenant) {
    for (; tenant.next < tenant.claims.size(); ++tenant.next) {
      Contender& claim = *tenant.claims[tenant.next];
      if (claim.workers > 0 || claim.job->slots(claim.least) > shares_.left()) continue;
      give(tenant, claim, claim.least);
      if (claim.now == 0) served_.push_back(&claim);
      ++tenant.next;
      return true;
    }
    return false;
  }

  bool give_step(Tenant& tenant) {
    for (std::size_t tried = 0; tried < tenant.claims.size(); ++tried) {
      Contender& claim = *tenant.claims[tenant.next++ % tenant.claims.size()];
      if (claim.workers == 0 || claim.workers + claim.step() > claim.most) continue;
      if (claim.job->slots(claim.step()) > shares_.left()) continue;
      give(tenant, claim, claim.workers + claim.step());
      return true;
    }
    return false;
  }

  void give(Tenant& tenant, Contender& claim, std::int32_t workers) {
    tenant.slots += static_cast<double>(claim.job->slots(workers - claim.workers));
    shares_.take(claim, workers);
  }

  const Snapshot& snapshot_;
  Shares& shares_;
  bool admitting_ = true;  // smallest sizes are given, and no steps yet
  std::map<std::string, Tenant> tenants_;
  std::vector<const Contender*> served_;
};

}  // namespace

Result<std::unique_ptr<Policy>> Fair::make(const Parameters& parameters) {
  std::map<std::string, double> weights;
  if (auto ok = ParameterReader(parameters).weights("weights", weights).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<Fair>(std::move(weights));
}

void Fair::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.everybody();
  Filling filling(snapshot, shares, weights_);
  filling.run();
  settle(snapshot, draft, filling.wishes(), {Owed::yes, "has less than its share"});
  fill(snapshot, draft, kArrival, Sizes::smallest);
  say_who_waits(snapshot, draft, Sizes::smallest, "tenants with less for their weight");
}

}  // namespace paceline
