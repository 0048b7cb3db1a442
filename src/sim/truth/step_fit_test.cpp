#include "sim/truth/step_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.hpp"

namespace paceline::sim {
namespace {

std::vector<StepPoint> points_of(const StepFit& truth, const std::vector<GangScale>& scales) {
  std::vector<StepPoint> points;
  for (const GangScale& scale : scales)
    for (const double local_batch : {8, 16, 32, 64, 128})
      points.push_back({scale, local_batch, truth.seconds(scale, local_batch)});
  return points;
}

std::vector<GangScale> every_scale() {
  std::vector<GangScale> scales;
  for (const std::int32_t nodes : {1, 2, 4, 8})
    for (std::int32_t each = 1; each <= 4; ++each) scales.push_back({nodes, nodes * each});
  return scales;
}

TEST(StepFit, IsPolluxsFormula) {
  const StepFit fit{{0.5, 0.01}, {0.2, 0.05}, {1, 0.1}, 2};
  EXPECT_DOUBLE_EQ(fit.seconds({1, 1}, 50), 1) << "one replica has nobody to wait for";
  EXPECT_DOUBLE_EQ(fit.seconds({1, 4}, 50), std::hypot(1, 0.2 + 0.05 * 2));
  EXPECT_DOUBLE_EQ(fit.seconds({2, 4}, 50), std::hypot(1, 1 + 0.1 * 2));
  const StepFit in_turn{{0.5, 0.01}, {0.2, 0.05}, {1, 0.1}, 1};
  EXPECT_DOUBLE_EQ(in_turn.seconds({2, 4}, 50), 1 + 1.2);
}

TEST(StepFit, RecoversWhatMadeTheMeasurements) {
  const StepFit truth{{0.06, 0.004}, {0.05, 0.02}, {0.3, 0.006}, 2.5};
  const StepFit fit = fit_steps(points_of(truth, every_scale()));
  EXPECT_NEAR(fit.gradient.fixed, truth.gradient.fixed, 1e-3 * truth.gradient.fixed);
  EXPECT_NEAR(fit.gradient.each, truth.gradient.each, 1e-3 * truth.gradient.each);
  EXPECT_NEAR(fit.local.fixed, truth.local.fixed, 1e-3 * truth.local.fixed);
  EXPECT_NEAR(fit.local.each, truth.local.each, 1e-3 * truth.local.each);
  EXPECT_NEAR(fit.nodes.fixed, truth.nodes.fixed, 1e-3 * truth.nodes.fixed);
  EXPECT_NEAR(fit.nodes.each, truth.nodes.each, 1e-3 * truth.nodes.each);
  EXPECT_NEAR(fit.overlap, truth.overlap, 1e-3 * truth.overlap);
  EXPECT_LT(median_relative_error(fit, points_of(truth, every_scale())), 1e-6);
}

TEST(StepFit, EvensOutNoise) {
  const StepFit truth{{0.06, 0.004}, {0.05, 0.02}, {0.3, 0.006}, 1.5};
  auto noisy = points_of(truth, every_scale());
  Rng rng(7);
  for (StepPoint& point : noisy) point.seconds *= 0.9 + 0.2 * rng.uniform();
  const StepFit fit = fit_steps(noisy);
  EXPECT_LT(median_relative_error(fit, noisy), 0.08);
  EXPECT_LT(median_relative_error(fit, points_of(truth, every_scale())), 0.03);
}

TEST(StepFit, OfPlacesThatWereNeverMeasuredIsThatOfTheOthers) {
  const StepFit truth{{0.06, 0.004}, {0.05, 0.02}, {0.3, 0.006}, 2};
  const StepFit on_one = fit_steps(points_of(truth, {{1, 1}, {1, 2}, {1, 3}, {1, 4}}));
  EXPECT_EQ(on_one.seconds({2, 4}, 32), on_one.seconds({1, 4}, 32));
  const StepFit alone = fit_steps(points_of(truth, {{1, 1}}));
  EXPECT_EQ(alone.seconds({8, 32}, 32), alone.seconds({1, 1}, 32));
  EXPECT_NEAR(alone.seconds({1, 1}, 1000), 4.06, 0.01);
}

TEST(StepFit, IsAlwaysANumberAboveZero) {
  for (const double step : {1e-300, 1e-9, 1.0, 1e300}) {
    const StepFit fit = fit_steps(std::vector<StepPoint>{{{1, 1}, 1e9, step}, {{9, 9}, 1, 2}});
    const double far = fit.seconds({1'000'000, 1'000'000}, 1e9);
    EXPECT_TRUE(std::isfinite(far) && far > 0) << step;
  }
}

}  // namespace
}  // namespace paceline::sim
