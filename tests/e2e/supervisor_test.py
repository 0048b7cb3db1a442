"""Killing supervisors: noticed, the worker's whole tree ends first, and the job starts again without spending a retry. And
what supervisors hold to while no server is there."""

import os
import signal
import sys
import time
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


# Notes when it ended by the clock that the server doesn't have.
PATIENT = """
import os, signal, sys, time
def leave(*_):
    print("left after", time.monotonic() - began, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
began = time.monotonic()
time.sleep(600)
"""


class WithoutServerTest(unittest.TestCase):
    def until_none(self, box):
        deadline = time.monotonic() + 60
        while box.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(box.processes(), [])

    def test_the_time_limit_holds_while_no_server_is_there(self):
        with Box(BINARY, slots=3) as box:
            began = time.monotonic()
            jobs = [box.submit("--slots", str(slots), "--max-duration", "3s", "--", "python3", "-c", PATIENT) for slots in (1, 2)]
            for job in jobs:
                box.wait_state(job, "RUNNING")
            box.kill()
            self.until_none(box)
            at_most = time.monotonic() - began
            time.sleep(3)  # in which nothing of them runs, and which nobody is billed for
            box.up()
            for job in jobs:
                ended = box.wait_state(job, "TIMEOUT", "COMPLETED", "FAILED")
                self.assertEqual((ended["state"], ended["attempt"]), ("TIMEOUT", 1))
                self.assertGreaterEqual(ended["ran_seconds"], 3)
                self.assertLess(ended["ran_seconds"], at_most + 1)
                left = float(box.call("logs", str(job)).stdout.split("left after ")[1].split()[0])
                self.assertGreaterEqual(left, 2.5)

    def test_a_retry_has_what_the_first_attempt_left_of_the_limit(self):
        with Box(BINARY, slots=1) as box:
            first = 'if [ ! -e "$MARK" ]; then touch "$MARK"; sleep 2; exit 1; fi; exec sleep 600'
            job = box.submit("--retry", "1", "--max-duration", "4s", "--env", f"MARK={box.directory}/mark", "--", "sh", "-c", first)
            began = time.monotonic()
            box.until(lambda: (now := box.job(job))["attempt"] == 2 and now["state"] == "RUNNING", 60, "no second attempt")
            box.kill()
            self.until_none(box)
            at_most = time.monotonic() - began
            box.up()
            ended = box.wait_state(job, "TIMEOUT", "COMPLETED", "FAILED")
            self.assertEqual((ended["state"], ended["retries_used"]), ("TIMEOUT", 1))
            self.assertGreaterEqual(ended["ran_seconds"], 4)
            self.assertLess(ended["ran_seconds"], at_most)


class RemovedClaimTest(unittest.TestCase):
    def test_the_slots_of_its_worker_are_given_away_once_it_is_over_and_no_retry_is_spent(self):
        with Box(BINARY, slots=1) as box:
            told, both = box.directory / "pid", box.directory / "both"
            job = box.submit("--", "sh", "-c", f"test -e {told} && kill -0 $(cat {told}) && touch {both}; "
                                               f"echo $$ > {told}; exec sleep 1000")
            box.wait_state(job, "RUNNING")
            box.until(lambda: told.exists() and told.read_text(), 60, "the worker has not begun")
            first = told.read_text()
            box.kill()
            (box.directory / f"agent/workers/{job}.1.0").unlink()
            box.up()
            box.until(lambda: told.read_text() not in ("", first), 60, "the job was not started again")
            self.assertFalse(both.exists())
            again = box.wait_state(job, "RUNNING")
            self.assertEqual((again["generation"], again["retries_used"]), (2, 0))


class SharedMemoryTest(unittest.TestCase):
    def test_what_a_job_leaves_goes_with_it_unless_it_shares_the_machines(self):
        with Box(BINARY, slots=1) as box:
            if "share the machine's /dev/shm" in box.log.read_text():
                self.skipTest("no mount namespaces here")
            name = f"/dev/shm/{box.directory.name}"
            try:
                for options, stays in (([], False), (["--shared-shm"], True)):
                    job = box.submit(*options, "--", "sh", "-c", f"head -c 1000000 /dev/zero > {name} && df /dev/shm")
                    self.assertEqual(box.wait_state(job, "COMPLETED", "FAILED")["state"], "COMPLETED")
                    self.assertIn("tmpfs", box.call("logs", str(job)).stdout)
                    self.assertEqual(os.path.exists(name), stays)
            finally:
                Path(name).unlink(missing_ok=True)


if __name__ == "__main__":
    unittest.main()
