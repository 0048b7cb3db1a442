"""Gradients are those of one device, whatever a script does between them: real processes, real PyTorch."""

import json
import re
import unittest
from pathlib import Path

import support

SCRIPT = Path(__file__).with_name("gradients_script.py")
IN_PIECES = {"max_local": 3}
EXACT = {"micro": 2, "exact": True}


@support.has_torch
@support.has_library
class GradientsTest(unittest.TestCase):
    def train(self, size, **asked):
        gang = support.Gang(SCRIPT, size, json.dumps(asked))
        self.addCleanup(gang.kill)
        return gang.ends()

    def results(self, size, **asked):
        found = []
        for code, output in self.train(size, **asked):
            self.assertEqual(code, 0, output[-3000:])
            found.append(json.loads(re.search(r"^result (.*)$", output, re.M)[1]))
        return found

    def assert_as_alone(self, size, **asked):
        with self.subTest(size=size, **asked):
            for each in self.results(size, **asked):
                for one, other in zip(each["together"], each["alone"], strict=True):
                    self.assertAlmostEqual(one, other, delta=1e-5)

    def ends_with(self, words, size, **asked):
        with self.subTest(size=size, **asked):
            for code, output in self.train(size, **asked):
                self.assertEqual(code, 1, output[-3000:])
                self.assertRegex(output, words)

    def test_steps_that_an_optimizer_skips(self):
        for size, batches in support.variants((2, IN_PIECES), (1, {}), (1, IN_PIECES), (2, EXACT)):
            self.assert_as_alone(size, kind="skips", batches=batches)

    def test_zero_grad_of_the_model(self):
        for size, batches in support.variants((2, IN_PIECES), (1, IN_PIECES), (2, {"micro": 3}), (2, EXACT)):
            self.assert_as_alone(size, kind="model.zero_grad", batches=batches)

    def test_clipping_sees_the_mean_where_the_script_says_what_counts(self):
        for size, batches in support.variants((1, {}), (1, IN_PIECES), (3, {}), (2, EXACT)):
            self.assert_as_alone(size, kind="tokens", batches=batches)

    def test_a_closure(self):
        for size, batches in ((1, {}), (2, {}), *support.variants((2, IN_PIECES), (1, IN_PIECES), (2, EXACT), (1, EXACT))):
            self.assert_as_alone(size, kind="closure", batches=batches)
        for size, batches in support.variants((2, {}), (1, IN_PIECES)):
            self.assert_as_alone(size, kind="closure", models="each", batches=batches)

    def test_a_closure_that_is_evaluated_several_times(self):
        for batches in ({}, *support.variants({"micro": 10, "exact": True})):
            self.assert_as_alone(1, kind="lbfgs", batches=batches)
        for size, batches in support.variants((2, {}), (1, IN_PIECES)):
            self.ends_with("LBFGS evaluates its closure several times, .*: train with it on one rank, in one piece", size,
                           kind="lbfgs", batches=batches)

    def test_several_models(self):
        for models in "each", "backwards", "one loss":
            for size, batches in support.variants((2, {}), (1, IN_PIECES), (3, IN_PIECES), (2, EXACT)):
                self.assert_as_alone(size, models=models, batches=batches)

    def test_several_models_in_buckets(self):
        self.assert_as_alone(2, models="one loss", buckets_of=64)

    def test_layers_that_are_unfrozen(self):
        for kind in "unfrozen before an epoch", "unfrozen after a step":
            for size, batches in support.variants((2, {}), (2, IN_PIECES), (2, EXACT), (1, {})):
                self.assert_as_alone(size, kind=kind, batches=batches)
        for size, batches in support.variants((2, {}), (1, IN_PIECES), (2, EXACT)):
            self.ends_with(r"one\.weight was unfrozen after job\.batches\(\) had handed out the batch.* Set requires_grad before", size,
                           kind="unfrozen in a batch", batches=batches)

    def test_a_model_of_which_nothing_is_trained(self):
        """What its batch norms note is summed in an exact training all the same."""
        one, = self.results(1, kind="frozen model", batches=EXACT)
        for size in support.variants(2, 3):
            for each in self.results(size, kind="frozen model", batches=EXACT):
                self.assertEqual(each["together"], one["together"])
        self.assertAlmostEqual(one["together"][-1], 0.1)
        self.assertEqual(one["together"][-2], 3 * 40 / 2, "micro-batches")
        for each in self.results(2, kind="frozen model"):
            self.assertAlmostEqual(each["together"][-1], 0.1)

    def test_a_parameter_of_no_model(self):
        self.ends_with(r"The SGD trains a parameter that is in no model of job\.distribute\(\): number 8 of its own, of shape "
                       r"\(3,\)\. .*: make it", 1, kind="outside")

    def test_reentrant_checkpoints(self):
        self.ends_with("as in a layer that is used more than once under .*: pass use_reentrant=False", 2, kind="reentrant shared",
                       buckets_of=64)
        for size in 1, 2:
            self.ends_with(r"backward\(\) ran again .* pass use_reentrant=False", size, kind="reentrant whole")

    def test_a_batch_that_scales_has_at_most_all_samples(self):
        scaled = self.results(3, batch=15, batches={"batch": "scale", "drop_last": True})
        alone, = self.results(1, batch=40, rate=0.05 * 40 / 15)
        for each in scaled:
            self.assertEqual(each["steps"], 3)
            for one, other in zip(each["together"], alone["alone"], strict=True):
                self.assertAlmostEqual(one, other, delta=1e-5)
        self.assert_as_alone(1, batch=50, batches={"batch": "scale"})


if __name__ == "__main__":
    unittest.main()
