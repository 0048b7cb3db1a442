// Pollux's model of a training step, fitted to measured step times: what a profile says of places
// where nothing was measured.
//
//   T_grad(m)     = α + β m                 forward and backward, m samples on each replica
//   T_sync(N, K)  = 0                       one replica
//                   α_local + β_local (K-2) K replicas on one node
//                   α_nodes + β_nodes (K-2) on N > 1 nodes
//   T(N, K, m)    = (T_grad^γ + T_sync^γ)^(1/γ)
//
// in seconds; all α, β >= 0; γ from 1 (synchronisation follows the gradient) to 10 (hidden behind it).
//
//   const StepFit fit = fit_steps({{{1, 1}, 32, 0.05}, {{1, 4}, 32, 0.06}, …});
//   fit.seconds({.nodes = 20, .replicas = 80}, 32)
//
// Source: Pollux (OSDI'21), section 3.2, equations 8 to 11.
#pragma once

#include <cstdint>
#include <span>

namespace paceline::sim {

struct GangScale {
  std::int32_t nodes = 1;
  std::int32_t replicas = 1;
  friend bool operator==(const GangScale&, const GangScale&) = default;
};

// Seconds that grow linearly: α + β x.
struct Linear {
  double fixed = 0, each = 0;
  [[nodiscard]] double at(double x) const { return fixed + each * x; }
};

struct StepFit {
  Linear gradient, local, nodes;
  double overlap = 1;  // γ

  // REQUIRES: 0 < nodes <= replicas; local_batch > 0.
  [[nodiscard]] double seconds(GangScale scale, double local_batch) const;
};

struct StepPoint {
  GangScale scale;
  double local_batch = 1;
  double seconds = 0;
};

// Least squares of log T: relative errors count alike, however long a step is. A kind of place that
// no point is of synchronises like the other kind; without either it takes no time. Deterministic.
// REQUIRES: at least one point; seconds and local batches above 0.
StepFit fit_steps(std::span<const StepPoint> points);

// How far off the fit is: the middle one of |fitted - measured| / measured.
// REQUIRES: at least one point.
double median_relative_error(const StepFit& fit, std::span<const StepPoint> points);

}  // namespace paceline::sim
