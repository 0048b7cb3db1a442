"""JAX on two workers: each process sees the devices of both."""

import unittest

from support import FrameworkTest, command_with


class JaxTest(FrameworkTest):
    framework, torch = "jax", False

    def test_two_workers(self):
        job = self.submit(command_with("jax_distributed.py"))
        shown = self.expect_completed(job)
        for process in range(2):
            self.assertIn(f"process {process} of 2 sees 2 devices", self.logs(job))
        self.assertEqual(shown["progress"]["step"], 200)
        self.assertLess(self.reports(job)[-1]["loss"], 1e-6)


if __name__ == "__main__":
    unittest.main()
