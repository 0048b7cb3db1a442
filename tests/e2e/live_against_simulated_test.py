"""What a real server did, simulated from its journal: every job takes as long as it did, within 10 % and 0.3 s.

The policy is fifo: jobs start in the order in which they came, so a moment's delay stays a moment's. Where later jobs may
pass a blocked one, an end a millisecond before or after a submission decides who does.

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


class LiveAgainstSimulatedTest(unittest.TestCase):
    def live(self, box):
        """What each job took, from its submission to its end."""
        chance = random.Random(7)
        for number in range(JOBS):
            slots = chance.choice([1, 1, 1, 2, 2, 3])
            box.submit("--slots", str(slots), "--name", f"job-{number}", "--", "sleep", f"{chance.uniform(0.5, 2.5):.2f}")
            time.sleep(chance.uniform(0, 0.6))
        jobs = box.wait_all(seconds=120)
        self.assertEqual({job["state"] for job in jobs}, {"COMPLETED"})
        return {str(job["id"]): job["ended_at"] - job["submitted_at"] for job in jobs}

    def simulated(self, box, policy):
        out = box.directory / "jobs.csv"
        done = subprocess.run([BINARY, "simulate", "--trace", box.directory / "journal", "--policy", policy,
                               "--jobs-out", out, "-o", "json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        study = json.loads(done.stdout)
        self.assertEqual((study["trace"]["format"], study["trace"]["jobs"]), ("paceline", JOBS))
        self.assertEqual((study["cluster"]["text"], study["cluster"]["slots"]), ("1x4:cpu", SLOTS))
        with open(out, newline="") as file:
            return {row["job"]: float(row["jct"]) for row in csv.DictReader(file)}

    def test_each_job_takes_as_long_as_it_did(self):
        with Box(BINARY, slots=SLOTS, policy="fifo") as box:
            live = self.live(box)
            simulated = self.simulated(box, "fifo")
            self.assertEqual(sorted(simulated), sorted(live))
            for job, took in live.items():
                self.assertAlmostEqual(simulated[job], took, delta=0.1 * took + ALLOWANCE, msg=f"job {job}")
            self.assertGreater(max(live.values()), 3, "worthless unless some had to wait")


if __name__ == "__main__":
    unittest.main()
