"""The journal of a real server as a flight recorder: replayed it gives the same plans, and as a trace it can be
simulated under other policies and on other nodes, also while the server runs."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

# Reports its steps, saves when it is told to leave, and goes on from there.
TRAINER = """trap 'echo > part-$step; mv part-$step ckpt-$step; exit 0' TERM
step=$(ls | grep -o '^ckpt-[0-9]*$' | cut -d- -f2 | sort -n | tail -1)
step=${step:-0}
while [ $step -lt 60 ]; do
  step=$((step + 1)); sleep 0.1; echo '{"paceline": {"step": '$step', "total_steps": 60}}'
done"""


def simulate(*arguments):
    return subprocess.run([BINARY, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=120)


class FlightRecorderTest(unittest.TestCase):
    def study(self, *arguments):
        done = simulate(*arguments, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def assert_refused(self, words, *arguments):
        done = simulate(*arguments)
        self.assertNotIn(done.returncode, (0, 1), done.stdout)
        self.assertIn(words, done.stderr)

    def assert_replays(self, box, servers):
        replay = self.study("--trace", box.directory / "journal", "--replay")
        self.assertIsNone(replay["difference"], replay)
        self.assertEqual((replay["servers"], replay["folded"]), (servers, 0))
        return replay

    def train(self, box, size, *options):
        folder = box.directory / f"training-{len(list(box.directory.glob('training-*')))}"
        folder.mkdir()
        return box.submit("--slots", size, "--elastic", "restart", "--min-run", "100ms", "--workdir", str(folder),
                          "--checkpoint", "ckpt-*", *options, "--", "sh", "-c", TRAINER)

    def live(self, box):
        """Something of everything that can come from outside."""
        paused = box.submit("--slots", "1", "--priority", "90", "--", "sleep", "2")
        box.wait_state(paused, "RUNNING")
        box.call("pause", str(paused))
        first = self.train(box, "1..4")
        for _ in range(4):
            box.submit("--slots", "1", "--priority", "60", "--", "sleep", "0.4")
        second = self.train(box, "1..3@2", "--expect", "5s")
        box.call("policy", "set", "srtf", "--yes")
        box.call("resume", str(paused))
        box.call("policy", "try", "afs")
        box.submit("--slots", "2", "--after", str(second), "--", "sleep", "0.2")
        box.submit("--slots", "1", "--max-duration", "500ms", "--", "sleep", "60")
        box.call("resize", str(first), "--workers", "1", check=False)
        time.sleep(1)
        box.call("policy", "promote", "--yes")
        box.call("policy", "load", str(ROOT / "examples/policies/even-share.lua"))
        box.call("policy", "set", "even-share", "--yes")
        cancelled = self.train(box, "1..2")
        box.submit("--slots", "1", "--", "sh", "-c", "exit 3")
        time.sleep(1)
        box.call("cancel", str(cancelled))

    def test_the_same_plans_come_out_again(self):
        with Box(BINARY, slots=4) as box:
            self.live(box)
            self.assert_replays(box, servers=1)
            box.kill()
            box.up()
            box.submit("--slots", "2", "--", "sleep", "0.3")
            box.call("policy", "set", "elastic-las", "--yes")
            box.call("policy", "try", "fifo")
            box.kill()
            box.up("--placement", "spread")
            box.submit("--slots", "1", "--", "true")  # whatever else was over before
            box.wait_all(seconds=60)
            replay = self.assert_replays(box, servers=3)
            self.assertGreater(replay["plans"], 8)
            done = simulate("--trace", box.directory / "paceline.db", "--replay")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("all equal, byte for byte", done.stdout)

    def test_what_if_there_were_other_nodes_or_another_policy(self):
        with Box(BINARY, slots=2) as box:
            for _ in range(6):
                box.submit("--slots", "1..2@1", "--elastic", "restart", "--", "sleep", "2")
            box.submit("--slots", "2", "--hold", "--", "true")
            box.until(lambda: sum(bool(job["ended_at"]) for job in box.jobs()) == 6, 60, "not every job is over")
            trace = ["--trace", box.directory, "--policy", "afs,fifo"]
            study = self.study(*trace)
            self.assertEqual((study["trace"]["jobs"], study["trace"]["no_duration"]), (6, 1))
            self.assertEqual(study["cluster"], {"text": "1x2:cpu", "what_if": None, "nodes": 1, "slots": 2})
            more = self.study(*trace, "--what-if", "+2x8")
            self.assertEqual((more["cluster"]["what_if"], more["cluster"]["nodes"], more["cluster"]["slots"]),
                             ("+2x8", 3, 18))
            self.assertLess(more["runs"][1]["average_wait_seconds"], study["runs"][1]["average_wait_seconds"])
            self.assertIn("What if: +2x8", simulate(*trace, "--what-if", "+2x8").stdout)
            self.recorded(box, trace, study)

    def recorded(self, box, trace, study):
        """The jobs simulated, handed on as a file: the same plans."""
        out = box.directory / "out.trace"
        twice = self.study(*trace, "--seeds", 2, "--record", out)
        for file, seed in ((out, 0), (f"{out}.1", 1)):
            again = self.study("--trace", file, "--cluster", "1x2:cpu", "--policy", "afs,fifo")
            self.assertEqual(again["trace"]["format"], "paceline")
            self.assertEqual([run["digest"] for run in again["runs"]],
                             [run["digest"] for run in twice["runs"] if run["seed"] == seed])
        self.assertEqual([run["digest"] for run in study["runs"]],
                         [run["digest"] for run in twice["runs"] if run["seed"] == 0])

    def test_bad_input(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        folder = Path(directory.name)
        self.assert_refused("There is no database", "--trace", folder, "--policy", "fifo")
        self.assert_refused("There is no database", "--trace", folder / "journal", "--replay")
        self.assert_refused("no-such", "--trace", folder / "no-such", "--policy", "fifo")
        other = folder / "other.db"
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE t (x)")
        self.assert_refused("is not a Paceline database", "--trace", other)
        database.close()
        with Box(BINARY, slots=1) as box:
            self.assert_refused("No job of", "--trace", box.directory)
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            journal = ["--trace", box.directory]
            self.assert_refused("'2x8' neither adds", *journal, "--what-if", "2x8")
            self.assert_refused("no node 'node-7'", *journal, "--what-if", "-node-7")
            self.assert_refused("--policy changes nothing", *journal, "--replay", "--policy", "fifo")
            self.assert_refused("can't be written", *journal, "--record", folder / "no/such")
            box.call("down")
            box.server.wait(timeout=30)
            newer = sqlite3.connect(box.directory / "paceline.db")
            newer.execute("PRAGMA user_version = 999")
            newer.close()
            self.assert_refused("written by a newer Paceline", *journal)


if __name__ == "__main__":
    unittest.main()
