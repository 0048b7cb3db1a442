"""The gradient noise scale against gradients whose scale is known, and the rules by which learning rates follow a batch."""

import math
import unittest

import support

if support.HAS_TORCH:
    import torch
    from paceline.scaling import NoiseScale, rate_factor

SIZE = 400  # of a gradient


@support.has_torch
class ScalingTest(unittest.TestCase):
    def measured(self, noise, ranks, batch, steps):
        """Of gradients around one of length 1, whose samples' covariances sum up to `noise`."""
        chance = torch.Generator().manual_seed(1)
        true = torch.full((SIZE,), SIZE ** -0.5)
        scale = NoiseScale()
        for _ in range(steps):
            own = [true + torch.randn(SIZE, generator=chance) * math.sqrt(noise / SIZE / batch) for _ in range(ranks)]
            mean = torch.stack(own).mean(0)
            scale.update(batch, sum(float(each.square().sum()) for each in own) / ranks, batch * ranks,
                         float(mean.square().sum()))
        return scale

    def test_it_is_what_the_gradients_were_made_with(self):
        for noise in (5.0, 100.0, 1000.0):
            for ranks in (2, 8):
                self.assertAlmostEqual(self.measured(noise, ranks, 50, 1000).value / noise, 1.0, delta=0.25)

    def test_it_is_not_told_of_a_few_steps_or_of_chance_alone(self):
        self.assertIsNone(self.measured(100.0, 2, 50, 5).value)
        still = NoiseScale()
        for _ in range(50):
            still.update(10, 1.0, 20, 0.4)  # less than halved: no gradient can be seen behind the noise
        self.assertIsNone(still.value)

    def test_it_goes_on_from_its_state(self):
        one, other = self.measured(100.0, 2, 50, 40), NoiseScale()
        other.restore(one.state())
        self.assertEqual(one.value, other.value)

    def test_rules(self):
        self.assertEqual(rate_factor("linear", 64, 4, None), 4.0)
        self.assertEqual(rate_factor("sqrt", 64, 4, None), 2.0)
        self.assertEqual(rate_factor("noise", 64, 4, None), 2.0)
        self.assertAlmostEqual(rate_factor("noise", 64, 4, 1e9), 4.0, places=4)
        self.assertAlmostEqual(rate_factor("noise", 64, 4, 1e-9), 1.0, places=4)
        self.assertEqual(rate_factor("noise", 64, 1, 50.0), 1.0)


if __name__ == "__main__":
    unittest.main()
