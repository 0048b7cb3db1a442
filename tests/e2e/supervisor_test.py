"""Killing supervisors: noticed, the worker's whole tree ends first, and the job starts again without spending a retry."""

import os
import signal
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

# The first start waits for its end in a child of another session; the second ends well.
WORKER = 'if [ -e "$MARK.$PACELINE_RANK" ]; then exit 0; fi; touch "$MARK.$PACELINE_RANK"; setsid sleep 600 & wait'


def parent_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("PPid:"):
            return int(line.split()[1])
    raise AssertionError("a process without parent")


class SupervisorTest(unittest.TestCase):
    def start(self, box, *options):
        mark = box.directory / "mark"
        job = box.submit(*options, "--env", f"MARK={mark}", "--", "sh", "-c", WORKER)
        return box.wait_state(job, "RUNNING")

    def kill_supervisor(self, pid):
        supervisor = parent_of(pid)
        self.assertNotEqual(supervisor, 1)
        os.kill(supervisor, signal.SIGKILL)

    def assert_started_again(self, box, job):
        ended = box.wait_state(job["id"], "COMPLETED", "FAILED")
        self.assertEqual((ended["state"], ended["attempt"], ended["retries_used"]), ("COMPLETED", 2, 0))
        self.assertEqual(box.processes(), [])

    def test_a_killed_supervisor_costs_a_start_and_no_retry(self):
        with Box(BINARY, slots=1) as box:
            job = self.start(box)
            self.kill_supervisor(job["pids"][0])
            self.assert_started_again(box, job)

    def test_one_killed_supervisor_ends_the_whole_gang(self):
        with Box(BINARY, slots=2) as box:
            job = self.start(box, "--slots", "2")
            self.kill_supervisor(job["pids"][1])
            self.assert_started_again(box, job)

    def test_a_supervisor_killed_while_no_server_runs_is_found_by_the_next(self):
        with Box(BINARY, slots=1) as box:
            job = self.start(box)
            box.kill()
            self.kill_supervisor(job["pids"][0])
            box.up()
            self.assert_started_again(box, job)


if __name__ == "__main__":
    unittest.main()
