"""Lightning with the callback of the package: no step is lost over resizes and a pause, and a target ends it."""

import re
import unittest

from support import ROOT, FrameworkTest, command_with

STEPS = 2500


class LightningTest(FrameworkTest):
    framework = "lightning"
    further = {"PYTHONPATH": str(ROOT / "tests/frameworks/torch113")}

    def setUp(self):
        super().setUp()
        self.command = command_with("lightning_fit.py")

    def test_resizes_and_a_pause_lose_no_step(self):
        job = self.submit(re.sub(r"--target '[^']*' ", "", self.command))
        self.until(lambda: self.box.job(job)["checkpoint"], job, "saves nothing")
        for workers in (1, 2):
            self.resize(job, workers)
        self.pause_and_resume(job)
        shown = self.expect_completed(job)
        steps = self.steps(job, "loss")
        self.assertEqual(steps, sorted(steps), "it never went back")
        self.assertEqual(shown["progress"]["step"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], STEPS)

    def test_a_target_ends_it_with_a_checkpoint(self):
        job = self.submit(self.command)
        shown = self.expect_completed(job)
        self.assertTrue(shown["target"]["reached"])
        self.assertLess(shown["progress"]["step"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], shown["progress"]["step"])


if __name__ == "__main__":
    unittest.main()
