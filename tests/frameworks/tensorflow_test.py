"""TensorFlow on two workers, which find each other in TF_CONFIG."""

import unittest

from support import FrameworkTest, command_with


class TensorFlowTest(FrameworkTest):
    framework, torch = "tensorflow", False
    further = {"TF_CPP_MIN_LOG_LEVEL": "2"}

    def test_two_workers(self):
        job = self.submit(command_with("tensorflow_workers.py"))
        self.expect_completed(job)
        for worker in range(2):
            self.assertIn(f"worker {worker} of 2", self.logs(job))
        last = self.reports(job)[-1]
        self.assertEqual(last["epoch"], last["total_epochs"])
        self.assertGreater(last["accuracy"], 0.9)


if __name__ == "__main__":
    unittest.main()
