"""torchrun as the job's command: it is started once, with all slots, and starts the processes itself. A pause holds them all."""

import re
import unittest

from support import FrameworkTest, command_with


class TorchrunTest(FrameworkTest):
    def test_it_starts_its_processes_and_a_pause_holds_them(self):
        job = self.submit(command_with("torchrun"))
        self.wait_log(job, "epoch 2:")
        self.pause_and_resume(job)
        self.expect_completed(job)
        log = self.logs(job)
        self.assertEqual(sorted(re.findall(r"\]:rank (\d of \d)", log)), ["0 of 2", "1 of 2"])
        self.assertEqual(re.findall(r"epoch (\d+):", log), [str(epoch) for epoch in range(1, 13)])


if __name__ == "__main__":
    unittest.main()
