#include "sim/truth/step_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.hpp"

namespace paceline::sim {
namespace {

constexpr std::size_t kParameters = 7;
constexpr double kOverlapMax = 10;
constexpr int kIterationsMax = 200;
constexpr double kEnough = 1e-12;  // relative gain of an iteration that is the last
constexpr double kDampingMax = 1e12;
constexpr double kStepMax = 2;  // of a logarithm in one iteration
constexpr double kSecondsMin = 1e-9, kSecondsMax = 1e9;

// The logarithms of the six α and β, which keeps them above 0, and the logit of γ within its bounds.
using Fitted = std::array<double, kParameters>;
using Matrix = std::array<Fitted, kParameters>;

double part_of(double logit) { return 1 / (1 + std::exp(-logit)); }

StepFit fit_of(const Fitted& p) {
  const auto linear = [&](std::size_t i) { return Linear{std::exp(p[i]), std::exp(p[i + 1])}; };
  return {linear(0), linear(2), linear(4), 1 + (kOverlapMax - 1) * part_of(p[6])};
}

const Linear* sync_of(const StepFit& fit, GangScale scale) {
  if (scale.replicas < 2) return nullptr;
  return scale.nodes == 1 ? &fit.local : &fit.nodes;
}

// log T at a point, and how it changes with each parameter.
struct Predicted {
  double log_seconds = 0;
  Fitted slope{};
};

void take_slope(Fitted& slope, std::size_t at, const Linear& part, double x, double weight) {
  const double seconds = part.at(x);
  slope[at] = weight * part.fixed / seconds;
  slope[at + 1] = weight * part.each * x / seconds;
}

Predicted predict(const StepFit& fit, const StepPoint& point) {
  Predicted predicted;
  const double grad = fit.gradient.at(point.local_batch);
  const double others = point.scale.replicas - 2;
  const Linear* sync = sync_of(fit, point.scale);
  if (sync == nullptr || sync->at(others) <= 0) {
    take_slope(predicted.slope, 0, fit.gradient, point.local_batch, 1);
    predicted.log_seconds = std::log(grad);
    return predicted;
  }
  const double gamma = fit.overlap;
  const double log_ratio = std::log(sync->at(others) / grad);
  const double together = std::log1p(std::exp(gamma * log_ratio));  // log(1 + (T_sync/T_grad)^γ)
  const double of_sync = 1 - std::exp(-together);
  predicted.log_seconds = std::log(grad) + together / gamma;
  take_slope(predicted.slope, 0, fit.gradient, point.local_batch, 1 - of_sync);
  take_slope(predicted.slope, sync == &fit.local ? 2 : 4, *sync, others, of_sync);
  const double part = (gamma - 1) / (kOverlapMax - 1);
  predicted.slope[6] =
      (of_sync * log_ratio - together / gamma) / gamma * (kOverlapMax - 1) * part * (1 - part);
  return predicted;
}

// The normal equations of one Gauss-Newton step, and the sum of squares where it begins.
struct Equations {
  Matrix matrix{};
  Fitted right{};
  double squares = 0;
};

Equations equations_at(const Fitted& p, std::span<const StepPoint> points) {
  Equations equations;
  const StepFit fit = fit_of(p);
  for (const StepPoint& point : points) {
    const auto [log_seconds, slope] = predict(fit, point);
    const double off = std::log(point.seconds) - log_seconds;
    equations.squares += off * off;
    for (std::size_t i = 0; i < kParameters; ++i) {
      equations.right[i] += slope[i] * off;
      for (std::size_t j = 0; j < kParameters; ++j) equations.matrix[i][j] += slope[i] * slope[j];
    }
  }
  return equations;
}

// Gauss elimination; the damped matrix is positive definite, so that no pivot is 0.
Fitted solve(Matrix a, Fitted b) {
  for (std::size_t i = 0; i < kParameters; ++i) {
    for (std::size_t row = i + 1; row < kParameters; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t j = i; j < kParameters; ++j) a[row][j] -= factor * a[i][j];
      b[row] -= factor * b[i];
    }
  }
  for (std::size_t i = kParameters; i-- > 0;) {
    for (std::size_t j = i + 1; j < kParameters; ++j) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return b;
}

Fitted bounded(Fitted p) {
  const double low = std::log(kSecondsMin), high = std::log(kSecondsMax);
  for (double& parameter : p) parameter = std::clamp(parameter, low, high);
  return p;
}

Fitted stepped(const Fitted& p, Equations equations, double damping) {
  for (std::size_t i = 0; i < kParameters; ++i)
    equations.matrix[i][i] += damping * (equations.matrix[i][i] + 1e-9);
  Fitted next = solve(equations.matrix, equations.right);
  for (std::size_t i = 0; i < kParameters; ++i)
    next[i] = p[i] + std::clamp(next[i], -kStepMax, kStepMax);
  return bounded(next);
}

// Somewhere plausible: half of the shortest step is fixed, and synchronising takes as long.
Fitted start_of(std::span<const StepPoint> points) {
  double shortest = points.front().seconds, per_sample = shortest / points.front().local_batch;
  for (const StepPoint& point : points) {
    shortest = std::min(shortest, point.seconds);
    per_sample = std::min(per_sample, point.seconds / point.local_batch);
  }
  const double half = std::log(shortest / 2), each = std::log(shortest / 100);
  return bounded({half, std::log(per_sample / 2), half, each, half, each, -1});
}

// Levenberg and Marquardt: a step that does not help is taken again, shorter.
StepFit fitted(std::span<const StepPoint> points) {
  Fitted p = start_of(points);
  Equations now = equations_at(p, points);
  double damping = 1e-3;
  for (int i = 0; i < kIterationsMax && damping < kDampingMax; ++i) {
    const Fitted next = stepped(p, now, damping);
    const Equations then = equations_at(next, points);
    if (!(then.squares < now.squares)) {
      damping *= 4;
      continue;
    }
    const bool enough = now.squares - then.squares <= kEnough * now.squares;
    p = next;
    now = then;
    damping /= 3;
    if (enough) break;
  }
  return fit_of(p);
}

StepFit with_unmeasured(StepFit fit, std::span<const StepPoint> points) {
  const auto any = [&](const Linear& kind) {
    return std::any_of(points.begin(), points.end(),
                       [&](const StepPoint& point) { return sync_of(fit, point.scale) == &kind; });
  };
  const bool local = any(fit.local), nodes = any(fit.nodes);
  if (!local) fit.local = nodes ? fit.nodes : Linear{};
  if (!nodes) fit.nodes = fit.local;
  return fit;
}

}  // namespace

double StepFit::seconds(GangScale scale, double local_batch) const {
  return std::exp(predict(*this, {scale, local_batch, 0}).log_seconds);
}

StepFit fit_steps(std::span<const StepPoint> points) {
  check(!points.empty(), "a fit needs a measurement");
  return with_unmeasured(fitted(points), points);
}

double median_relative_error(const StepFit& fit, std::span<const StepPoint> points) {
  check(!points.empty(), "there is something to be wrong about");
  std::vector<double> errors;
  for (const auto& [scale, local_batch, seconds] : points)
    errors.push_back(std::abs(fit.seconds(scale, local_batch) / seconds - 1));
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

}  // namespace paceline::sim
