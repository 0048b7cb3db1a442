"""A real server whose wall clock is set by hours, while it works and while it is away: nothing ends, stops or is billed
wrongly. The clock is set by libfaketime (package faketime), for server and supervisors alone; skipped where it is missing.
"""

import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from boxes import BINARY, FAKETIME, HOUR, WrongBox


@unittest.skipUnless(FAKETIME, "libfaketime is not installed")
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
