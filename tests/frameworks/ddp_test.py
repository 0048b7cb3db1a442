"""A DistributedDataParallel script as it is: on two workers, then on one, from the checkpoint that it had kept."""

import re
import unittest

from support import FrameworkTest, command_with


class DdpTest(FrameworkTest):
    def test_two_workers_and_then_one(self):
        job = self.submit(command_with("python3 examples/frameworks/ddp.py"))
        self.wait_log(job, "rank 0 of 2")
        self.wait_log(job, "rank 1 of 2")
        self.until(lambda: self.box.job(job)["checkpoint"], job, "keeps no checkpoint")
        self.box.call("resize", str(job), "--workers", "1")
        self.wait_log(job, "rank 0 of 1")
        self.expect_completed(job)
        log = self.logs(job)
        self.assertGreater(int(re.search(r"going on after epoch (\d+)", log)[1]), 0)
        self.assertEqual(re.findall(r"^epoch (\d+):", log, re.MULTILINE)[-1], "12")


if __name__ == "__main__":
    unittest.main()
