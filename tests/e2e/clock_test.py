"""A real server whose wall clock is set by hours, while it works and while it is away: nothing ends, stops or is billed
wrongly. The clock is set by libfaketime (package faketime), for server and supervisors alone; skipped where it is missing.
"""

import glob
import json
import os
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
HOUR = 3600


class WrongBox(Box):
    """A server with a wall clock of its own; its monotonic clock is the machine's."""

    def up(self, *options):
        self.ahead = self.directory.with_suffix(".ahead")
        if not self.ahead.exists():
            self.set_clock(0)
        own = self.environment
        self.environment = {**own, "LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(self.ahead), "FAKETIME_NO_CACHE": "1",
                            "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        try:
            super().up(*options)
        finally:
            self.environment = own

    def set_clock(self, seconds):
        """So far from the true time, for whoever runs and whoever comes."""
        fresh = self.ahead.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n")
        fresh.rename(self.ahead)

    def close(self):
        super().close()
        self.ahead.unlink(missing_ok=True)

    def clock_steps(self):
        events = [json.loads(line) for line in self.call("events", "-o", "json").stdout.splitlines()]
        return [round(event["by_seconds"] / HOUR) for event in events if event["kind"] == "clock_set" and abs(event["by_seconds"]) > 60]


@unittest.skipUnless(LIBRARY, "libfaketime is not installed")
class ClockTest(unittest.TestCase):
    def test_set_back_over_a_kill(self):
        with WrongBox(BINARY, slots=2) as box:
            limited = box.submit("--max-duration", "6s", "--", "sleep", "600")
            box.wait_state(limited, "RUNNING")
            box.set_clock(-HOUR)
            box.kill()
            box.up()
            began = time.monotonic()
            fresh = box.submit("--", "true")
            self.assertEqual(box.wait_state(fresh, "COMPLETED", "FAILED")["state"], "COMPLETED")
            self.assertLess(time.monotonic() - began, 30)
            ended = box.wait_state(limited, "TIMEOUT", "COMPLETED", "FAILED")
            self.assertEqual(ended["state"], "TIMEOUT")
            self.assertGreaterEqual(ended["ran_seconds"], 6)
            self.assertLess(ended["ran_seconds"], 60)
            self.assertEqual(box.clock_steps(), [-1])
            self.assertAlmostEqual(box.job(fresh)["submitted_at"], time.time() - HOUR, delta=120)
            self.assertAlmostEqual(ended["submitted_at"], time.time(), delta=120)

    def test_set_forward_while_it_works(self):
        with WrongBox(BINARY, slots=2) as box:
            job = box.submit("--max-duration", "2h", "--", "sleep", "4")
            box.wait_state(job, "RUNNING")
            box.set_clock(3 * HOUR)
            later = box.submit("--", "true")
            ended = box.wait_state(job, "COMPLETED", "TIMEOUT", "FAILED")
            self.assertEqual(ended["state"], "COMPLETED")
            self.assertGreaterEqual(ended["ran_seconds"], 3)
            self.assertLess(ended["ran_seconds"], 120)
            self.assertLess(ended["slot_seconds"], 120)
            self.assertEqual(box.clock_steps(), [3])
            self.assertAlmostEqual(box.wait_state(later, "COMPLETED")["ended_at"], time.time() + 3 * HOUR, delta=120)

    def test_set_by_days_while_it_is_away(self):
        with WrongBox(BINARY, slots=2) as box:
            for days in (-9, 9):
                job = box.submit("--max-duration", "1h", "--", "sleep", "1")
                box.wait_state(job, "RUNNING")
                box.kill()
                box.set_clock(days * 24 * HOUR)
                deadline = time.monotonic() + 30
                while box.processes() and time.monotonic() < deadline:
                    time.sleep(0.02)
                box.up()
                ended = box.wait_state(job, "COMPLETED", "TIMEOUT", "FAILED")
                self.assertEqual(ended["state"], "COMPLETED")
                self.assertLess(ended["ran_seconds"], 30)
                self.assertLess(ended["waited_seconds"], 30)
            self.assertEqual(box.clock_steps(), [-9 * 24, 18 * 24])


if __name__ == "__main__":
    unittest.main()
