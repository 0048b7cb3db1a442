#include "scheduler/shadow_forecast.hpp"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

void add(ForecastMeans& sum, const ForecastMeans& sample) {
  sum.completion += sample.completion;
  sum.waiting += sample.waiting;
  sum.makespan += sample.makespan;
  sum.lost += sample.lost;
}

void divide(ForecastMeans& sum, double samples) {
  sum.completion /= samples;
  sum.waiting /= samples;
  sum.makespan /= samples;
  sum.lost /= samples;
}

void divide(LossPair& sum, double samples) {
  sum.live /= samples;
  sum.shadow /= samples;
}

double difference(const UserLoss& user) {
  return std::abs(user.lost.shadow.total() - user.lost.live.total());
}

}  // namespace

void ForecastSamples::take(const ForecastOutcome& live, const ForecastOutcome& shadow) {
  ++sum_.samples;
  add(sum_.live, live.means);
  add(sum_.shadow, shadow.means);
  sum_.jobs = live.jobs;
  sum_.guessed = live.guessed;
  sum_.unfinished = std::max(live.unfinished, shadow.unfinished);
  for (const auto& [user, lost] : live.lost) users_[user].live += lost;
  for (const auto& [user, lost] : shadow.lost) users_[user].shadow += lost;
}

ShadowForecast ForecastSamples::means() const {
  ShadowForecast means = sum_;
  divide(means.live, means.samples);
  divide(means.shadow, means.samples);
  for (auto [user, lost] : users_) {
    if (lost.live.total() <= 0 && lost.shadow.total() <= 0) continue;
    divide(lost, means.samples);
    means.users.push_back({user, lost});
  }
  std::stable_sort(
      means.users.begin(), means.users.end(),
      [](const UserLoss& a, const UserLoss& b) { return difference(a) > difference(b); });
  for (; means.users.size() > kForecastUsersMax; means.users.pop_back()) {
    ++means.other_users;
    means.others.live += means.users.back().lost.live;
    means.others.shadow += means.users.back().lost.shadow;
  }
  return means;
}

}  // namespace paceline
