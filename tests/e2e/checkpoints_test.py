"""Checkpoints of scripts that know nothing of Paceline: files that match what the job said (`--checkpoint`)."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from box import Box
from boxes import BINARY

# No file of it ever rests for a second.
REPLACES = """
import os, time
while True:
    with open("at.new", "w") as file:
        file.write("all of it")
    os.replace("at.new", "at.pt")
    time.sleep(0.7)
"""
SOON = 5  # seconds


class CheckpointsTest(unittest.TestCase):
    def test_one_that_is_replaced_again_and_again_is_acknowledged(self):
        with Box(BINARY, slots=1) as box:
            job = box.submit("--workdir", str(box.directory), "--checkpoint", "at.pt", "--", sys.executable, "-c", REPLACES)
            box.wait_state(job, "RUNNING")
            box.until(lambda: box.job(job)["checkpoint"], SOON, "no checkpoint is acknowledged")
            first = box.job(job)["checkpoint"]
            self.assertEqual(first["path"], str(box.directory.resolve() / "at.pt"))
            box.until(lambda: box.job(job)["checkpoint"]["acknowledged_at"] > first["acknowledged_at"], SOON,
                      "the next one is not acknowledged")
            self.assertEqual(box.job(job)["state"], "RUNNING")


if __name__ == "__main__":
    unittest.main()
