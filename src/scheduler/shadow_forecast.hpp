// What a candidate policy would change, as a mean over the forecasts of its trial.
//
//   ForecastSamples samples;
//   samples.take(live.outcome(), shadow.outcome());
//   samples.means().users.front().user      → whose losses differ most
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "forecast/forecast.hpp"

namespace paceline {

inline constexpr std::size_t kForecastUsersMax = 20;

// What jobs lose under the live policy and under the candidate.
struct LossPair {
  Bill live, shadow;
};

struct UserLoss {
  std::string user;
  LossPair lost;
};

// Means over the samples. The newest sample's jobs.
struct ShadowForecast {
  std::uint32_t samples = 0;
  ForecastMeans live, shadow;
  std::size_t jobs = 0, guessed = 0;
  std::size_t unfinished = 0;   // under either of them
  std::vector<UserLoss> users;  // that lose anything, the largest difference first
  std::size_t other_users = 0;  // beyond kForecastUsersMax
  LossPair others;              // theirs together
};

class ForecastSamples {
 public:
  void take(const ForecastOutcome& live, const ForecastOutcome& shadow);
  [[nodiscard]] ShadowForecast means() const;

 private:
  ShadowForecast sum_;  // users apart
  std::map<std::string, LossPair> users_;
};

}  // namespace paceline
