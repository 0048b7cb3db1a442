"""Logs of real jobs: what a job that writes for ever may take of a small disk of its own, and in what order the lines of several
workers are told."""

import os
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from boxes import APART, BINARY, SmallDisk, go_apart
from box import Box

MIB = 1 << 20
LIMIT = 8 * MIB

# Ten megabytes a second, in numbered lines of 100 bytes, until it is ended.
WRITER = """
import itertools, sys, time
for number in itertools.count():
    sys.stdout.write(''.join(sys.argv[1] % (number * 1000 + line) + '\\n' for line in range(1000)))
    sys.stdout.flush()
    time.sleep(0.01)
"""
PLAIN = "line %094d"


class BoundTest(unittest.TestCase):
    def setUp(self):
        self.disk = SmallDisk(2, "size=64m")
        self.addCleanup(self.disk.close)
        self.box = self.disk.box

    def start(self, *options):
        return self.box.submit(*options, "--", sys.executable, "-c", WRITER, PLAIN)

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
        job = self.start("--log-limit", "8M")
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
        job = self.start("--log-limit", "8M", "--slots", "2")
        self.assertLessEqual(self.most_room(job, 8 * LIMIT), 2 * LIMIT)
        self.box.call("cancel", str(job))

    def test_nobody_asks_for_more_than_there_is(self):
        refused = self.box.call("submit", "--log-limit", "2G", "--", "true", check=False)
        self.assertEqual(refused.returncode, 64, refused)
        self.assertIn("Logs of 2G are more than the 1G that one job may have here.", refused.stderr)
        self.assertIn("at least 1M", self.box.call("submit", "--log-limit", "1K", "--", "true", check=False).stderr)


# Two workers that write in turns, each when the other has made the file before.
TURNS = """
import os, pathlib, time
rank = int(os.environ['RANK'])
for turn in range(6):
    while turn and not pathlib.Path(str(turn - 1)).exists():
        time.sleep(0.01)
    if turn % 2 == rank:
        print('turn', turn, flush=True)
        time.sleep(0.6)
        pathlib.Path(str(turn)).touch()
"""


class OrderTest(unittest.TestCase):
    def setUp(self):
        self.box = Box(BINARY, slots=2).__enter__()
        self.addCleanup(self.box.close)

    def test_lines_of_several_workers_come_as_they_were_written(self):
        folder = self.box.directory / "turns"
        folder.mkdir()
        job = self.box.submit("--slots", "2", "--workdir", str(folder), "--", sys.executable, "-c", TURNS)
        self.assertEqual(self.box.wait_all(60)[0]["state"], "COMPLETED")
        expected = [f"[{turn % 2}] turn {turn}" for turn in range(6)]
        lines = [line for line in self.box.call("logs", str(job)).stdout.splitlines() if "turn" in line]
        self.assertEqual(lines, expected)
        followed = [line for line in self.box.call("logs", "-f", str(job)).stdout.splitlines() if "turn" in line]
        self.assertEqual(followed, expected)
        stamped = [line for line in self.box.call("logs", "-t", str(job)).stdout.splitlines() if "turn" in line]
        self.assertEqual([line.split(" ", 1)[1] for line in stamped], expected)
        times = [line.split(" ", 1)[0] for line in stamped]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[-1], times[0])
        self.assertEqual(self.box.call("logs", "--since", "1h", str(job)).stdout, self.box.call("logs", str(job)).stdout)
        last = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1))
        self.assertNotIn("turn 0", self.box.call("logs", "--since", last, str(job)).stdout)

    def test_a_log_of_an_earlier_version_is_shown_as_before(self):
        job = self.box.submit("--slots", "2", "--", "sh", "-c", "echo I am $RANK")
        self.box.wait_all(60)
        for times in (self.box.directory / f"logs/{job}").glob("*.times"):
            times.unlink()
        lines = [line for line in self.box.call("logs", str(job)).stdout.splitlines() if "I am" in line]
        self.assertEqual(lines, ["[0] I am 0", "[1] I am 1"])
        self.assertIn(" [1] I am 1", self.box.call("logs", "-t", str(job)).stdout)

    def test_a_script_that_was_edited_while_its_job_waited_is_named(self):
        script = self.box.directory / "train.py"
        script.write_text("print('as submitted')\n")
        first = self.box.submit("--slots", "2", "--", "sleep", "600")
        job = self.box.submit("--workdir", str(self.box.directory), "--", sys.executable, "train.py")
        untouched = self.box.submit("--workdir", str(self.box.directory), "--", "sh", "-c", "echo nothing changed")
        time.sleep(3)  # within two seconds it might be another machine's clock
        script.write_text("print('as edited')\n")
        self.box.call("cancel", str(first))
        self.box.wait_all(60)
        lines = self.box.call("logs", str(job)).stdout.splitlines()
        self.assertRegex(lines[1], r"^--- train\.py was changed at \S+Z, after the job was submitted \(\S+Z\): it runs as it is now ---$")
        self.assertEqual(lines[2], "as edited")
        self.assertNotIn("was changed", self.box.call("logs", str(untouched)).stdout)

    def test_wait_tells_what_a_failing_worker_wrote_last(self):
        job = self.box.submit("--slots", "2", "--", "sh", "-c", 'if [ "$RANK" = 1 ]; then echo no such file; exit 3; fi; sleep 600')
        waited = self.box.call("wait", str(job), check=False)
        self.assertEqual(waited.returncode, 3)
        self.assertEqual(waited.stderr, "paceline: Rank 1 failed. It wrote last:\n  [1] no such file\n")
        self.assertEqual(waited.stdout.count("\n"), 1)
        quiet = self.box.call("wait", "--quiet", str(job), check=False)
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (3, "", ""))


if __name__ == "__main__":
    if APART not in os.environ:
        go_apart()
    unittest.main()
