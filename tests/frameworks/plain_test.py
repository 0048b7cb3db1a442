"""A script for one process that knows nothing of Paceline: it crashes, and goes on from the checkpoint that it had kept."""

import os
import re
import signal
import unittest

from support import FrameworkTest, command_with


class PlainTest(FrameworkTest):
    def test_it_goes_on_where_it_was(self):
        job = self.submit(command_with("plain.py"))
        self.until(lambda: self.box.job(job)["checkpoint"], job, "keeps no checkpoint")
        for pid in self.box.processes():
            os.kill(pid, signal.SIGKILL)
        self.expect_completed(job)
        log = self.logs(job)
        after = int(re.search(r"going on after epoch (\d+)", log)[1])
        self.assertGreater(after, 0)
        self.assertEqual(re.findall(r"^epoch (\d+):", log, re.MULTILINE)[-1], "100")


if __name__ == "__main__":
    unittest.main()
