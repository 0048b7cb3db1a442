"""A million reports lie in a log while the server hangs, is gone for a minute, or is killed while it reads them; without
PACELINE_TEST_ALL a fifth of them, and as long as they take to be written. All of them arrive or are counted, and the one in their
middle that meets the target does so."""

import json
import os
import signal
import sys
import tempfile
import time
import unittest
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, UnixConnection
from box import Box

ALL = bool(os.environ.get("PACELINE_TEST_ALL"))
REPORTS = 1_000_000 if ALL else 200_000
GONE_SECONDS = 60 if ALL else 0
MEETS = REPORTS // 2
PATIENCE = 300

# Waits for the file, writes, says so by another one.
SCRIPT = f"""
import os, sys, time
go = sys.argv[1]
while not os.path.exists(go): time.sleep(0.01)
for begin in range(0, {REPORTS}, 1000):
    sys.stdout.write("".join('{{"paceline":{{"step":%d,"acc":%s}}}}\\n' % (i, "0.9" if i == {MEETS} else "0.1")
                             for i in range(begin + 1, begin + 1001)))
sys.stdout.flush()
open(go + ".done", "w").close()
"""


class ReportsTest(unittest.TestCase):
    def setUp(self):
        self.box = Box(BINARY, slots=1)
        self.addCleanup(self.box.close)
        self.box.up()
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.go = Path(self.place.name) / "go"
        self.job = self.box.submit("--target", "acc>=0.5", "--", "python3", "-c", SCRIPT, str(self.go))
        self.box.wait_state(self.job, "RUNNING")

    def write_all(self):
        self.go.touch()
        self.box.until(Path(f"{self.go}.done").exists, PATIENCE, "it does not write")

    def points(self):
        """The steps of all points that are stored, and how many reports are said to be none."""
        steps, at = [], 1
        while True:
            with closing(UnixConnection(self.box.directory / "paceline.sock")) as connection:
                connection.request("GET", f"/v1/jobs/{self.job}/metrics?limit=10000&from={at}")
                page = json.loads(connection.getresponse().read())
            if page["next"] == at:
                return steps, page["passed_over"]
            steps += [point["step"] for point in page["points"]]
            at = page["next"]

    def expect_everything(self, newest=True):
        self.assertEqual(self.box.wait_state(self.job, "COMPLETED", "FAILED", seconds=PATIENCE)["state"], "COMPLETED")
        job = self.box.job(self.job)
        self.assertEqual(job["progress"]["step"], REPORTS)
        self.assertTrue(job["target"]["reached"])
        steps, passed = self.points()
        self.assertEqual(len(steps), len(set(steps)))
        self.assertEqual(len(steps) + passed, REPORTS)
        self.assertIn(MEETS, steps)
        if newest:
            self.assertEqual(steps[-1], REPORTS)
        self.assertNotIn("not looked through", self.box.call("logs", "--tail", "4K", str(self.job)).stdout)

    def test_a_server_that_hangs(self):
        os.kill(self.box.server.pid, signal.SIGSTOP)
        try:
            self.write_all()
        finally:
            os.kill(self.box.server.pid, signal.SIGCONT)
        self.expect_everything()

    def test_a_server_that_is_killed_and_comes_back(self):
        self.box.kill()
        back_at = time.monotonic() + GONE_SECONDS
        self.write_all()
        time.sleep(max(0, back_at - time.monotonic()))
        self.box.up()
        self.expect_everything()

    def test_a_server_that_is_killed_while_it_passes_reports_over(self):
        self.go.touch()
        self.box.until(lambda: self.points()[1] > 0, PATIENCE, "it passes nothing over")
        self.box.kill()  # perhaps while it holds the newest, until there is room for it
        self.box.up()
        self.expect_everything(newest=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
