"""The boundary between two steps of somebody else's loop: all ranks leave after the same step."""

import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

import support

SCRIPT = Path(__file__).with_name("boundary_script.py")


@support.has_torch
class BoundaryTest(unittest.TestCase):
    def test_a_notice_of_one_rank_is_taken_by_all_after_the_same_step(self):
        for size, noticed in ((1, 0), (3, 2)):
            gang = support.Gang(SCRIPT, size, noticed)
            self.addCleanup(gang.kill)
            said = []
            for code, output in gang.ends():
                self.assertEqual(code, 0, output)
                said.append(re.search(r"^left after step (\d+): True False$", output, re.MULTILINE)[1])
            self.assertEqual(len(set(said)), 1, said)
            self.assertGreaterEqual(int(said[0]), 5)

    def test_before_the_training_a_notice_ends_the_process(self):
        script = "from paceline.boundary import Boundary; Boundary(); print('made', flush=True); import time; time.sleep(600)"
        with subprocess.Popen([support.PYTHON, "-c", script], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(support.PACKAGE)}) as process:
            self.assertEqual(process.stdout.readline(), "made\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), 75)


if __name__ == "__main__":
    unittest.main()
