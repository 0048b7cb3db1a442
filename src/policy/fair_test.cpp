#include "policy/fair.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

struct Tenant {
  std::string user;
  double weight;
  double demand;
};

// Textbook weighted max-min: a tenant that asks for no more than its share has it, the others share
// what is left.
std::map<std::string, double> max_min(std::vector<Tenant> tenants, double slots) {
  std::map<std::string, double> has;
  while (!tenants.empty()) {
    double weights = 0;
    for (const Tenant& t : tenants) weights += t.weight;
    const double level = slots / weights;
    const auto modest = std::find_if(tenants.begin(), tenants.end(),
                                     [&](const Tenant& t) { return t.demand <= level * t.weight; });
    if (modest == tenants.end()) {
      for (const Tenant& t : tenants) has[t.user] = level * t.weight;
      break;
    }
    has[modest->user] = modest->demand;
    slots -= modest->demand;
    tenants.erase(modest);
  }
  return has;
}

void compare_with_max_min(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  const auto slots = rng.between(20, 60);
  World world(fmt::format("1x{} cpu", slots), "fair");
  std::vector<Tenant> tenants;
  std::map<std::string, double> weights;
  for (const char* user : {"ann", "bob", "cem", "dee"}) {
    tenants.push_back(
        {user, static_cast<double>(rng.between(1, 3)), static_cast<double>(rng.between(1, 40))});
    weights[user] = tenants.back().weight;
    world.submit(fmt::format("1..{} user={}", tenants.back().demand, user));
  }
  const Fair fair(weights);
  const Plan plan = world.plan([&](const Snapshot& s, Draft& d) { fair.decide(s, d); });
  const auto shares = max_min(tenants, static_cast<double>(slots));
  ASSERT_EQ(plan.changes.size(), tenants.size());
  for (const Change& change : plan.changes) {
    const auto& user = world.job(change.job).spec->user;
    // One slot of the tenant that weighs least lifts its share by 1, which is `weight` slots here.
    EXPECT_NEAR(static_cast<double>(change.placement.size()), shares.at(user), weights.at(user))
        << user;
  }
}

TEST(Fair, IsWeightedMaxMinWithinAStepOfEveryTenant) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) compare_with_max_min(seed);
}

}  // namespace
}  // namespace paceline
