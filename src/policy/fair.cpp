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
  double slots = 0;                    // it has so far
  std::vector<Contender*> contenders;  // its jobs, in its own order
  std::size_t next = 0;                // the first that was not looked at
};

// The neediest tenant first: the one that has least for its weight. Of tenants that have equally
// little, first the one whose next job runs and would be stopped, the largest harm first; then by
// name.
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
    for (Contender& contender : shares.contenders()) {
      Tenant& tenant = tenant_of(contender.job->spec->user, weights);
      tenant.slots += static_cast<double>(contender.job->slots(contender.workers));
      tenant.contenders.push_back(&contender);
    }
  }

  void run() {
    std::map<std::string, std::vector<Contender*>> arrived;
    for (auto& [name, tenant] : tenants_) {
      arrived[name] = tenant.contenders;
      sort_by_harm(snapshot_, tenant.contenders);
    }
    serve([this](Tenant& tenant) { return give_smallest(tenant); });
    admitting_ = false;
    for (auto& [name, tenant] : tenants_) {
      tenant.contenders = std::move(arrived[name]);
      tenant.next = 0;
    }
    serve([this](Tenant& tenant) { return give_step(tenant); });
  }

  // In the order in which they were served: jobs of the tenant furthest below its share come first.
  [[nodiscard]] std::vector<Wish> wishes() const {
    std::vector<Wish> wishes;
    const auto add = [&](const Contender& c) {
      wishes.push_back({c.job, c.now, c.workers, std::min(c.least, c.workers), c.most, Owed::yes});
    };
    for (const Contender* contender : served_) add(*contender);
    for (const Contender& contender : shares_.contenders()) {
      if (contender.now > 0 && contender.now != contender.workers) add(contender);
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
    const auto& contenders =
        shares_.contenders();  // of running jobs in the order of those that are active
    auto contender = contenders.begin();
    for (const auto& key : snapshot.state.active()) {
      while (contender != contenders.end() && contender->now == 0) ++contender;
      if (contender != contenders.end() && contender->job->id == key.job) {
        ++contender;
        continue;
      }
      const Job& job = snapshot.state.job(key.job);
      tenant_of(job.spec->user, weights).slots += job.slots(job.planned_workers());
    }
  }

  // The neediest tenant is served until no tenant takes anything any more.
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
    const auto served = [&] { return tenant.contenders[next]->workers > 0; };
    Rank rank{tenant.slots / tenant.weight, true, {}, tenant.name};
    if (!admitting_) return rank;
    while (next < tenant.contenders.size() && served()) ++next;
    if (next == tenant.contenders.size() || tenant.contenders[next]->now == 0) return rank;
    rank.waits = false;
    rank.harm = harm_of_giving_all(snapshot_, *tenant.contenders[next]->job);
    return rank;
  }

  bool give_smallest(Tenant& tenant) {
    for (; tenant.next < tenant.contenders.size(); ++tenant.next) {
      Contender& contender = *tenant.contenders[tenant.next];
      if (contender.workers > 0 || contender.job->slots(contender.least) > shares_.left()) continue;
      give(tenant, contender, contender.least);
      if (contender.now == 0) served_.push_back(&contender);
      ++tenant.next;
      return true;
    }
    return false;
  }

  bool give_step(Tenant& tenant) {
    for (std::size_t tried = 0; tried < tenant.contenders.size(); ++tried) {
      Contender& contender = *tenant.contenders[tenant.next++ % tenant.contenders.size()];
      if (contender.workers == 0 || contender.workers + contender.step() > contender.most) continue;
      if (contender.job->slots(contender.step()) > shares_.left()) continue;
      give(tenant, contender, contender.workers + contender.step());
      return true;
    }
    return false;
  }

  void give(Tenant& tenant, Contender& contender, std::int32_t workers) {
    tenant.slots += static_cast<double>(contender.job->slots(workers - contender.workers));
    shares_.take(contender, workers);
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
  shares.all_jobs();
  Filling filling(snapshot, shares, weights_);
  filling.run();
  settle(snapshot, draft,
         {.wishes = filling.wishes(),
          .precedence = "has less than its share",
          .rest = Rest{kArrival, Sizes::smallest, "tenants with less for their weight"}});
}

}  // namespace paceline
