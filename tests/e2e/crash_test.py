"""SIGKILL of server and agent at random moments of a 100-job run: no job is lost, none is started twice, no process is left.

The seed is printed; PACELINE_SEED=n repeats a run's choices.
"""

import os
import random
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
JOBS, KILLS = 100, 50

# Writes down each start, lives for a while in a process of its own session, and ends well.
WORKER = 'echo "$PACELINE_JOB_ID $PACELINE_RANK" >> "$STARTS"; setsid sleep "$1" & wait'


class CrashTest(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("PACELINE_SEED", random.SystemRandom().randrange(10**6)))
        print(f"seed {self.seed}", flush=True)
        self.random = random.Random(self.seed)

    def submit(self, box):
        workers = self.random.choice([1, 1, 1, 2, 3])
        seconds = f"{self.random.uniform(0.05, 1.0):.2f}"
        starts = box.directory / "starts"
        job = box.submit("--slots", str(workers), "--env", f"STARTS={starts}", "--", "sh", "-c", WORKER, "sh", seconds)
        return job, workers

    def test_jobs_survive_50_kills_of_the_server(self):
        with Box(BINARY, slots=4) as box:
            wanted = dict(self.submit(box) for _ in range(JOBS // 2))
            for kill in range(KILLS):
                time.sleep(self.random.uniform(0, 0.5))
                box.kill()
                box.up()
                wanted.update([self.submit(box)])
            ended = {job["id"]: job for job in box.wait_all(seconds=300)}
            starts = Counter((box.directory / "starts").read_text().splitlines())
            self.assertEqual(sorted(ended), sorted(wanted), "a job was lost or made up")
            self.assertEqual({job["state"] for job in ended.values()}, {"COMPLETED"})
            self.assertEqual(starts, Counter(f"{job} {rank}" for job, n in wanted.items() for rank in range(n)))
            self.assertEqual(box.processes(), [], "a process was left behind")


if __name__ == "__main__":
    unittest.main()
