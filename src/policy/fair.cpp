#include "policy/fair.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/harm.hpp"
#include "policy/pages.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

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
    const auto more = harm <=> o.harm;
    return more != 0 ? more > 0 : name < o.name;
  }
};

struct Tenant {
  std::string_view name;
  double weight = 1;
  double slots = 0;                    // it has so far
  std::vector<Contender*> contenders;  // its jobs, in its own order
  std::vector<Harm> harms;             // of the first of them, which are all that run
  std::size_t next = 0;                // the first that was not looked at
  Rank rank{};
};

bool is_less_needy(const Tenant* a, const Tenant* b) { return b->rank < a->rank; }

class Filling {
 public:
  // `shares` has running jobs alone.
  Filling(const Snapshot& snapshot, Shares& shares, const std::map<std::string, double>& weights)
      : snapshot_(snapshot),
        shares_(shares),
        weights_(weights),
        walk_(snapshot.state.waiting_by(kArrival).walk()),
        room_(shares.room()) {
    count_the_unchangeable();
    for (const auto& [user, jobs] : snapshot.state.waiting_users()) tenant_of(user);
    for (Contender& contender : shares.contenders()) {
      Tenant& tenant = tenant_of(contender.job->spec->user);
      tenant.slots += static_cast<double>(contender.slots(contender.workers));
      tenant.contenders.push_back(&contender);
    }
    look_before_the_last_running();
  }

  void run() {
    for (Tenant& tenant : tenants_) tenant.harms = sort_by_harm(snapshot_, tenant.contenders);
    serve([this](Tenant& tenant) { return give_smallest(tenant); });
    if (shares_.left() == 0) return;
    admitting_ = false;
    for (Tenant& tenant : tenants_) {
      std::sort(tenant.contenders.begin(), tenant.contenders.end(), came_first);
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
      if (contender.now != contender.workers) add(contender);
    }
    return wishes;
  }

 private:
  static bool came_first(const Contender* a, const Contender* b) { return a->key < b->key; }

  Tenant& tenant_of(std::string_view user) {
    Tenant*& tenant = by_name_[user];
    if (tenant) return *tenant;
    tenant = &tenants_.emplace_back();
    tenant->name = user;
    const auto weight = weights_.find(std::string(user));
    if (weight != weights_.end()) tenant->weight = weight->second;
    return *tenant;
  }

  // What jobs hold that can't be changed now counts for their tenants all the same.
  void count_the_unchangeable() {
    const auto& contenders = shares_.contenders();  // in the order of those that are active
    const auto& active = snapshot_.state.active();
    if (contenders.size() == active.size()) return;
    auto contender = contenders.begin();
    for (const auto& key : active) {
      if (contender != contenders.end() && contender->job->id == key.job) {
        ++contender;
        continue;
      }
      const Job& job = snapshot_.state.job(key.job);
      tenant_of(job.spec->user).slots += job.slots(job.planned_workers());
    }
  }

  // The next waiting job takes its place behind the jobs of its tenant.
  Tenant* look_at_next() {
    auto next = shares_.next_waiting(walk_, room_);
    if (!next) return nullptr;
    Tenant& tenant = tenant_of(next->job->spec->user);
    tenant.contenders.push_back(&waiting_.emplace_back(*next));
    return &tenant;
  }

  // Waiting jobs stand behind running ones where their priority is not larger: those come as they
  // are needed.
  void look_before_the_last_running() {
    if (shares_.contenders().empty()) return;
    const double last = shares_.contenders().back().key.first;
    while (look_at_next() && waiting_.back().key.first < last) continue;
  }

  bool look_at_next_of(const Tenant& tenant) {
    while (const Tenant* of = look_at_next())
      if (of == &tenant) return true;
    return false;
  }

  // The neediest tenant is served until no tenant takes anything any more.
  void serve(const std::function<bool(Tenant&)>& give) {
    std::vector<Tenant*> needy;  // a heap
    const auto add = [&](Tenant& tenant) {
      tenant.rank = rank_of(tenant);
      needy.push_back(&tenant);
      std::push_heap(needy.begin(), needy.end(), is_less_needy);
    };
    for (Tenant& tenant : tenants_) add(tenant);
    while (!needy.empty() && shares_.left() > 0) {
      std::pop_heap(needy.begin(), needy.end(), is_less_needy);
      Tenant& tenant = *needy.back();
      needy.pop_back();
      if (give(tenant)) add(tenant);
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
    rank.harm = tenant.harms[next];
    return rank;
  }

  bool give_smallest(Tenant& tenant) {
    for (; tenant.next < tenant.contenders.size() || look_at_next_of(tenant); ++tenant.next) {
      Contender& contender = *tenant.contenders[tenant.next];
      if (contender.workers > 0 || contender.least_slots() > shares_.left()) continue;
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
      if (contender.workers == 0 || contender.workers + contender.step > contender.most) continue;
      if (contender.slots(contender.step) > shares_.left()) continue;
      give(tenant, contender, contender.workers + contender.step);
      return true;
    }
    return false;
  }

  void give(Tenant& tenant, Contender& contender, std::int32_t workers) {
    tenant.slots += static_cast<double>(contender.slots(workers - contender.workers));
    shares_.take(contender, workers);
  }

  const Snapshot& snapshot_;
  Shares& shares_;
  const std::map<std::string, double>& weights_;
  bool admitting_ = true;  // smallest sizes are given, and no steps yet
  std::deque<Tenant> tenants_;
  std::unordered_map<std::string_view, Tenant*> by_name_;
  WaitingOrder::Walk walk_;
  std::int64_t room_;              // what a waiting job that is looked at may need
  std::deque<Contender> waiting_;  // those that were
  std::vector<const Contender*> served_;
};

}  // namespace

PolicyInfo Fair::info() {
  return {.name = "fair",
          .summary = "Weighted max-min over tenants, with lending and reclaim.",
          .text = policy_page("fair"),
          .elastic = true,
          .defaults = {{"weights", ""}},
          .make = make,
          .preempts = true};
}

Result<std::unique_ptr<Policy>> Fair::make(const Parameters& parameters) {
  std::map<std::string, double> weights;
  if (auto ok = ParameterReader(parameters).weights("weights", weights).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<Fair>(std::move(weights));
}

void Fair::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kArrival, Sizes::smallest);
  shares.all_running();
  Filling filling(snapshot, shares, weights_);
  filling.run();
  settle(snapshot, draft,
         {.wishes = filling.wishes(),
          .precedence = "has less than its share",
          .rest = Rest{kArrival, Sizes::smallest, "tenants with less for their weight"}});
}

}  // namespace paceline
