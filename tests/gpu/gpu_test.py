"""What check.py finds on this machine's GPU, as one test of script/test --all."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("check.py")
SKIPPED = 77


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class GpuTest(unittest.TestCase):
    def test_the_checks_of_a_gpu(self):
        done = subprocess.run([sys.executable, str(CHECK)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=900)
        print(done.stdout, flush=True)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip().splitlines()[-1].removeprefix("skipped: "))
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
