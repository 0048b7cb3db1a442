// For tests of profiled jobs: a model small enough to reckon with by hand.
#pragma once

#include "sim/truth/training.hpp"

namespace paceline::sim {

// A step takes a tenth of a second for each sample of a replica, and on several nodes half a second
// more. Half-way through the training the gradient's noise grows from φ = 10 to φ = 90 samples.
inline Profile toy() {
  Profile profile;
  profile.application = "toy";
  for (std::int32_t replicas = 1; replicas <= 4; ++replicas)
    profile.scales[1][replicas] = {{1, {0.1, 0}}, {80, {8, 0}}};
  for (std::int32_t replicas = 2; replicas <= 8; ++replicas)
    profile.scales[2][replicas] = {{1, {0.6, 0.5}}, {80, {8.5, 0.5}}};
  for (const std::int64_t batch : {10, 80})
    profile.validations[batch] = {{100, 100, 0.5, 1, 1}, {200, 200, 0.9, 1, 9}};
  return profile;
}

}  // namespace paceline::sim
