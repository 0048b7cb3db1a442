"""Hugging Face's Trainer with the callback of the package: no step is lost over resizes and a pause, and a target ends it."""

import re
import unittest

from support import FrameworkTest, command_with

STEPS, LOGGED_EVERY = 400, 10


class HuggingFaceTest(FrameworkTest):
    framework = "huggingface"

    def setUp(self):
        super().setUp()
        self.command = command_with("huggingface_trainer.py")

    def test_resizes_and_a_pause_lose_no_step(self):
        job = self.submit(re.sub(r"--target '[^']*' ", "", self.command))
        self.until(lambda: self.box.job(job)["checkpoint"], job, "saves nothing")
        for workers in (1, 2):
            self.resize(job, workers)
        self.pause_and_resume(job)
        shown = self.expect_completed(job)
        self.assertEqual(self.steps(job, "loss"), list(range(LOGGED_EVERY, STEPS + 1, LOGGED_EVERY)))
        self.assertEqual(shown["progress"]["total_steps"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], STEPS)
        self.expect_timeline(job, 2, "data", "others", "checkpoint")

    def test_a_target_ends_it_with_a_checkpoint(self):
        job = self.submit(self.command)
        shown = self.expect_completed(job)
        self.assertTrue(shown["target"]["reached"])
        self.assertLess(shown["progress"]["step"], STEPS)
        self.assertEqual(self.steps(job, "checkpoint")[-1], shown["progress"]["step"])


if __name__ == "__main__":
    unittest.main()
