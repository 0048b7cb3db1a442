"""What a real server did, simulated from its journal: every job takes as long as it did, within 10 % and 0.3 s.

Under fifo jobs start in the order in which they came, so a moment's delay stays a moment's. Where later jobs may pass a blocked
one, an end a millisecond before or after a submission decides which job does. So under elastic-fifo there is no blocked job: each
fits into a single slot, others make room for it, and a pause costs what the journal measured.

The jobs sleep, so that their lengths don't depend on how busy the machine is; what their processes take to start is
part of their lengths. The 0.3 s are for what the simulator has none of: the server's own time between an end and the next start.
"""

import csv
import json
import os
import random
import subprocess
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
JOBS, SLOTS, ALLOWANCE = 24, 4, 0.3
# When each comes, the slots that it may have, and its seconds on one of them.
ELASTIC_JOBS = ((0, "1..4", 60), (4, "1..4", 30), (7, "1", 8), (12, "1..4", 24), (13, "1", 12), (20, "1..4", 30))
# As fast as it has workers; goes on from where it was stopped.
ELASTIC_SCRIPT = """
import json, os, signal, sys, time

path, rank, workers = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
left = float(open(path).read()) if os.path.exists(path) else float(sys.argv[2])
begun = time.monotonic()


def left_now():
    return left - (time.monotonic() - begun) * workers


def leave(*_):
    if rank == 0:
        with open(path + ".new", "w") as file:
            file.write(str(left_now()))
        os.rename(path + ".new", path)
        print(json.dumps({"paceline": {"checkpoint": path}}), flush=True)
    os._exit(75)


signal.signal(signal.SIGTERM, leave)
while left_now() > 0:
    time.sleep(min(0.2, max(0.001, left_now() / workers)))
"""


class LiveAgainstSimulatedTest(unittest.TestCase):
    def live(self, box):
        """What each job took, from its submission to its end."""
        chance = random.Random(7)
        for number in range(JOBS):
            slots = chance.choice([1, 1, 1, 2, 2, 3])
            box.submit("--slots", str(slots), "--name", f"job-{number}", "--", "sleep", f"{chance.uniform(0.5, 2.5):.2f}")
            time.sleep(chance.uniform(0, 0.6))
        return self.took(box)

    def live_elastic(self, box):
        begun = time.monotonic()
        for number, (at, slots, seconds) in enumerate(ELASTIC_JOBS):
            time.sleep(max(0.0, begun + at - time.monotonic()))
            elastic = ["--elastic", "restart"] if ".." in slots else []
            box.submit("--slots", slots, *elastic, "--name", f"job-{number}", "--", "/usr/bin/python3", "-c", ELASTIC_SCRIPT,
                       str(box.directory / f"left-{number}"), str(seconds))
        return self.took(box)

    def took(self, box):
        jobs = box.wait_all(seconds=240)
        self.assertEqual({job["state"] for job in jobs}, {"COMPLETED"})
        return {str(job["id"]): job["ended_at"] - job["submitted_at"] for job in jobs}

    def simulated(self, box, policy, *options, jobs=JOBS):
        out = box.directory / "jobs.csv"
        done = subprocess.run([BINARY, "simulate", "--trace", box.directory / "journal", "--policy", policy,
                               *options, "--jobs-out", out, "-o", "json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        study = json.loads(done.stdout)
        self.assertEqual((study["trace"]["format"], study["trace"]["jobs"]), ("paceline", jobs))
        self.assertEqual((study["cluster"]["text"], study["cluster"]["slots"]), ("1x4:cpu", SLOTS))
        with open(out, newline="") as file:
            return {row["job"]: float(row["jct"]) for row in csv.DictReader(file)}, study

    def expect_alike(self, simulated, live):
        self.assertEqual(sorted(simulated), sorted(live))
        for job, took in live.items():
            self.assertAlmostEqual(simulated[job], took, delta=0.1 * took + ALLOWANCE, msg=f"job {job}")

    def test_each_job_takes_as_long_as_it_did(self):
        with Box(BINARY, slots=SLOTS, policy="fifo") as box:
            live = self.live(box)
            simulated, _ = self.simulated(box, "fifo")
            self.expect_alike(simulated, live)
            self.assertGreater(max(live.values()), 3, "worthless unless some had to wait")

    @unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
    def test_each_job_that_is_resized_takes_as_long_as_it_did(self):
        with Box(BINARY, slots=SLOTS, policy="elastic-fifo") as box:
            live = self.live_elastic(box)
            simulated, study = self.simulated(box, "elastic-fifo", "--speedup", "linear", "--know", "none", jobs=len(ELASTIC_JOBS))
            self.expect_alike(simulated, live)
            resizes = sum(change["kind"] == "resize" for event in box.events() if event["kind"] == "plan" for change in event["changes"])
            self.assertGreater(resizes, 2, "worthless unless some were resized")
            self.assertEqual(study["runs"][0]["resizes"], resizes)
            self.assertLess(study["settings"]["costs"]["resize_seconds"], 5, "as measured")


if __name__ == "__main__":
    unittest.main()
