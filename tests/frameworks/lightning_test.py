"""Lightning with the callback of the package: no step is lost over resizes and a pause, and a target ends it."""

import re
import unittest

from support import ROOT, FrameworkTest, command_with

SCRIPT = ROOT / "examples/frameworks/lightning_fit.py"
STEPS = 2500
STEP = "def training_step(self, batch, index):\n"


class LightningTest(FrameworkTest):
    framework = "lightning"
    further = {"PYTHONPATH": str(ROOT / "tests/frameworks/torch113")}

    def setUp(self):
        super().setUp()
        self.command = command_with("lightning_fit.py")

    def test_resizes_and_a_pause_lose_no_step(self):
        slowed = SCRIPT.read_text().replace(STEP, STEP + "        time.sleep(0.02 * os.path.exists('slow'))\n")
        (self.home / "slowed.py").write_text("import time\n" + slowed)
        (self.home / "slow").touch()
        command = re.sub(r"--target '[^']*' ", "", self.command)
        job = self.submit(command.replace(str(SCRIPT.relative_to(ROOT)), "slowed.py"))
        self.until(lambda: self.box.job(job)["checkpoint"], job, "saves nothing")
        for workers in (1, 2):
            self.resize(job, workers)
        self.pause_and_resume(job)
        (self.home / "slow").unlink()
        shown = self.expect_completed(job)
        steps = self.steps(job, "loss")
        self.assertEqual(steps, sorted(steps), "it never went back")
        self.assertEqual(shown["progress"]["step"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], STEPS)
        self.expect_timeline(job, 2, "data", "checkpoint")

    def test_a_target_ends_it_with_a_checkpoint(self):
        job = self.submit(self.command)
        shown = self.expect_completed(job)
        self.assertTrue(shown["target"]["reached"])
        self.assertLess(shown["progress"]["step"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], shown["progress"]["step"])


if __name__ == "__main__":
    unittest.main()
