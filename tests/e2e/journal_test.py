"""The journal of a real server in segments and database: listed, exported, replayed and pruned, while the server runs
and after it; and jobs of which nothing is kept any more."""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

SMALL = ("--limit", "journal-entries=100", "--limit", "ended-jobs=1")
JOBS = 60
REPORT = """echo '{"paceline": {"step": 1, "loss": 0.5}}'"""


def until(happened, what):
    deadline = time.monotonic() + 60
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.05)


class JournalTest(unittest.TestCase):
    def parts(self, box):
        return box.json("journal", "list")

    def live(self, box):
        """Some hundred entries, of which a restart needs none."""
        for _ in range(JOBS):
            box.submit("--", "sh", "-c", REPORT)
        box.wait_all(seconds=120)
        box.call("down")
        box.server.wait()

    def cut(self, box):
        until(lambda: self.parts(box)["segments"] and self.parts(box)["database"]["entries"] < 111,
              "entries stay in the database")
        return self.parts(box)

    def events(self, box, *arguments):
        done = box.call("events", "-o", "json", *arguments)
        return [json.loads(line)["seq"] for line in done.stdout.splitlines()], done.stderr

    def replay(self, box, trace):
        done = box.call("simulate", "--trace", str(trace), "--replay", "-o", "json", check=False)
        return done.returncode, done.stdout and json.loads(done.stdout), done.stderr

    def test_is_one_in_segments_and_database(self):
        with Box(BINARY, slots=2) as box:
            self.live(box)
            box.up(*SMALL)
            parts = self.cut(box)
            spans = [(each["first"], each["last"]) for each in parts["segments"] + [parts["database"]]]
            self.assertEqual(spans[0][0], 1)
            for before, after in zip(spans, spans[1:]):
                self.assertEqual(after[0], before[1] + 1)
            self.assertEqual({each["state"] for each in parts["segments"]}, {"sound"})
            seen, _ = self.events(box)
            self.assertEqual(seen, list(range(1, seen[-1] + 1)))

            export = box.directory / "export.jsonl"
            box.call("journal", "export", "-o", str(export))
            lines = [json.loads(line)["seq"] for line in export.read_text().splitlines()]
            self.assertEqual(lines, list(range(1, lines[-1] + 1)))
            some = box.call("journal", "export", "--from", "15", "--to", "34").stdout.splitlines()
            self.assertEqual([json.loads(line)["seq"] for line in some], list(range(15, 35)))
            for trace in (box.directory, export):
                code, replay, complaint = self.replay(box, trace)
                self.assertEqual((code, replay["difference"]), (0, None), complaint)
            study = json.loads(box.call("simulate", "--trace", str(export), "-o", "json").stdout)
            trace = study["trace"]  # one that was seen to begin and to end at once has no length
            self.assertEqual(trace["jobs"] + trace["no_duration"], JOBS)

    def test_is_pruned_when_somebody_says_yes(self):
        with Box(BINARY, slots=2) as box:
            self.live(box)
            box.up(*SMALL)
            self.cut(box)
            asked = box.call("journal", "prune", "--before", "45", check=False)
            self.assertEqual(asked.returncode, 76)
            self.assertIn("4 segments with the entries up to 40 are removed", asked.stderr)
            self.assertEqual(self.parts(box)["segments"][0]["first"], 1, "nothing was changed")
            box.call("journal", "prune", "--before", "45", "--yes")
            self.assertEqual(self.parts(box)["segments"][0]["first"], 41)
            seen, told = self.events(box, "--from", "1")
            self.assertEqual(seen[0], 41)
            self.assertIn("begins at entry 41", told)
            code, _, complaint = self.replay(box, box.directory)
            self.assertEqual(code, 78)
            self.assertIn("begins at entry 41", complaint)

            box.call("down")
            box.server.wait()
            box.call("journal", "prune", "--keep", "1ms", "--yes")
            self.assertEqual(self.parts(box)["segments"], [])
            box.up(*SMALL)
            self.assertEqual(len(box.jobs()), JOBS)

    def test_stays_below_its_size_where_one_is_set(self):
        with Box(BINARY, slots=2) as box:
            self.live(box)
            box.up(*SMALL, "--journal-size", "4K")
            until(lambda: self.parts(box)["segments"] and self.parts(box)["segments"][0]["first"] > 1,
                  "all segments stay")
            until(lambda: sum(each["bytes"] for each in self.parts(box)["segments"]) <= 4096, "they stay beyond it")
            self.assertEqual(len(box.jobs()), JOBS)

    def test_reads_on_after_a_damaged_segment(self):
        with Box(BINARY, slots=2) as box:
            self.live(box)
            box.up(*SMALL)
            segment = box.directory / "segments" / self.cut(box)["segments"][2]["file"]
            box.call("down")
            box.server.wait()
            damaged = bytearray(segment.read_bytes())
            damaged[80] ^= 1
            segment.write_bytes(damaged)
            self.assertEqual([each["state"] for each in self.parts(box)["segments"]][:4],
                             ["sound", "sound", "damaged", "sound"])
            exported = box.call("journal", "export", check=False)
            self.assertEqual(exported.returncode, 78)
            self.assertIn("entries 21 to 30 of the journal can't be read", exported.stderr)
            seen = [json.loads(line)["seq"] for line in exported.stdout.splitlines()]
            self.assertEqual(seen, [*range(1, 21), *range(31, seen[-1] + 1)])
            box.up(*SMALL)
            refused = box.call("events", "--from", "25", check=False)
            self.assertEqual(refused.returncode, 78)
            self.assertIn("read on from entry 31", refused.stderr)
            followed = box.call("events", "-f", "--from", "25", check=False)
            self.assertIn("read on from entry 31", followed.stderr)
            self.assertEqual(self.events(box, "--from", "31")[0][0], 31)
            until(lambda: "entries 21 to 30" in (json.loads(self.server_json(box))["damage"] or ""), "nobody tells of it")

    def server_json(self, box):
        return subprocess.run(["curl", "-s", "--unix-socket", str(box.directory / "paceline.sock"),
                               "http://x/v1/server"], capture_output=True, text=True, check=True).stdout

    def test_tells_of_jobs_that_were_dropped(self):
        with Box(BINARY, slots=2) as box:
            for _ in range(3):
                box.submit("--", "sh", "-c", REPORT)
            box.wait_all(seconds=60)
            running = box.submit("--", "sleep", "600")
            box.wait_state(running, "RUNNING")
            box.call("down")
            box.server.wait()
            box.up(*SMALL, "--limit", "ended-jobs-age=1s", "--keep", "1s")
            until(lambda: [each["id"] for each in box.jobs()] == [running], "they are kept")
            for command in ("show", "logs", "why"):
                said = box.call(command, "1", check=False)
                self.assertEqual(said.returncode, 66)
                self.assertIn("Job 1 (COMPLETED) ended on", said.stderr)
                self.assertIn("with its log and its 1 metric point.", said.stderr)
            self.assertEqual(sorted(each.name for each in (box.directory / "logs").iterdir()),
                             sorted([str(running), "journal"]))
            self.assertEqual(box.job(running)["state"], "RUNNING")
            seen, _ = self.events(box)
            self.assertEqual(seen, list(range(1, seen[-1] + 1)), "the journal has all of it")
            box.call("cancel", str(running))


if __name__ == "__main__":
    unittest.main()
