"""Logs of real jobs: what a job that writes for ever may take of a small disk of its own."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from boxes import APART, BINARY, SmallDisk, go_apart

MIB = 1 << 20
LIMIT = 8 * MIB

# Ten megabytes a second, in numbered lines of 100 bytes, until it is ended; what a line holds is handed over.
WRITER = """
import itertools, sys, time
for number in itertools.count():
    sys.stdout.write(''.join(sys.argv[1] % (number * 1000 + line) + '\\n' for line in range(1000)))
    sys.stdout.flush()
    time.sleep(0.01)
"""
PLAIN = "line %094d"
REPORT = '{"paceline": {"step": %d, "loss": 0.123456}}'


class BoundTest(unittest.TestCase):
    def setUp(self):
        self.disk = SmallDisk(2, "size=64m")
        self.addCleanup(self.disk.close)
        self.box = self.disk.box

    def start(self, line, *options):
        return self.box.submit(*options, "--", sys.executable, "-c", WRITER, line)

    def room(self, job):
        return sum(log.stat().st_blocks * 512 for log in (self.box.directory / f"logs/{job}").glob("rank*.log"))

    def size(self, job):
        return sum(log.stat().st_size for log in (self.box.directory / f"logs/{job}").glob("rank*.log"))

    def most_room(self, job, size):
        """The most room that its logs took until so much was written."""
        most = 0

        def written():
            nonlocal most
            most = max(most, self.room(job))
            return self.size(job) >= size
        self.box.until(written, 120, "it doesn't write")
        return most

    def test_a_job_that_writes_for_ever_is_bounded_and_keeps_head_and_tail(self):
        job = self.start(PLAIN, "--log-limit", "8M")
        self.assertLessEqual(self.most_room(job, 10 * LIMIT), 2 * LIMIT)
        self.box.call("cancel", str(job))
        self.box.wait_all(30)
        self.box.until(lambda: self.room(job) <= LIMIT + MIB, 30, "nothing is removed at its end")
        lines = self.box.call("logs", str(job)).stdout.splitlines()
        self.assertTrue(lines[0].startswith("--- attempt 1"), lines[0])
        self.assertEqual(lines[1], PLAIN % 0)
        removed = [line for line in lines if line.endswith("bytes were removed ---")]
        self.assertEqual(len(removed), 1, removed)
        self.assertGreater(int(removed[0].split()[1]), 8 * LIMIT)
        tail = [int(line[5:]) for line in lines[lines.index(removed[0]) + 1:] if len(line) == 99]
        self.assertEqual(tail, list(range(tail[0], tail[-1] + 1)))
        self.assertGreater(len(tail) * 100, LIMIT // 2)

    def test_the_logs_of_all_workers_count_together(self):
        job = self.start(PLAIN, "--log-limit", "8M", "--slots", "2")
        self.assertLessEqual(self.most_room(job, 8 * LIMIT), 2 * LIMIT)
        self.box.call("cancel", str(job))

    def test_what_is_removed_before_it_was_read_is_told(self):
        job = self.start(REPORT, "--log-limit", "2M")
        told = "were removed before what they report was stored"
        self.box.until(lambda: told in self.box.call("logs", "--tail", "2M", str(job)).stdout, 120, "nothing is told")
        self.assertLess(self.room(job), 2 * LIMIT)
        self.box.call("cancel", str(job))
        self.box.wait_all(60)

    def test_nobody_asks_for_more_than_there_is(self):
        refused = self.box.call("submit", "--log-limit", "2G", "--", "true", check=False)
        self.assertEqual(refused.returncode, 64, refused)
        self.assertIn("Logs of 2G are more than the 1G that one job may have here.", refused.stderr)
        self.assertIn("at least 1M", self.box.call("submit", "--log-limit", "1K", "--", "true", check=False).stderr)


if __name__ == "__main__":
    if APART not in os.environ:
        go_apart()
    unittest.main()
