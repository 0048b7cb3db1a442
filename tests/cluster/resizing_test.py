"""A gang over four machines that is resized in place: the training is the one that it would have been on one worker."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab import ROOT, Lab
from machines import skip_unless_permitted

PYTHON = "/usr/bin/python3"
SCRIPT = ROOT / "tests/e2e/exact_training.py"
SECONDS = 300
EPOCHS, BATCHES, SAMPLES = 80, 10, 240  # of an epoch
SIZES = 4, 8, 3, 5


class Resizing(Lab):
    def setUp(self):
        super().setUp()
        for number in range(4):
            self.join(f"gpu-{number}", "--slots", "2", "--label", "trains=yes")

    def train(self, name, slots):
        folder = self.folder / name
        folder.mkdir()
        job = self.submit("--name", name, "--slots", slots, "--affinity", "label:trains=yes", "--workdir", folder, "--", PYTHON, SCRIPT, folder,
                          str(EPOCHS))
        return job, folder

    def logs(self, job):
        return self.call("logs", job).stdout

    def found(self, job, pattern):
        return re.findall(pattern, self.logs(job), re.M)

    def digests(self, job):
        return {int(step): digest for step, digest in self.found(job, r"DIGEST (\d+) (\w{16})$")}

    def processes(self, job):
        """(machine, pid) of each rank."""
        return [(worker["node"], worker["pid"]) for worker in self.json("show", job)["gang"]]

    def until_it_trains(self, job):
        before = max(self.digests(job), default=0)
        self.until(lambda: max(self.digests(job), default=0) > before + BATCHES // 2, f"job {job} stands still", SECONDS, lambda: self.told_of(job))

    def resize(self, job, size):
        self.call("resize", job, "--workers", str(size))
        self.until(lambda: (lambda shown: shown["state"] == "RUNNING" and shown["workers"] == size)(self.json("show", job)),
                   f"job {job} does not get {size} workers", SECONDS, lambda: self.told_of(job))
        self.until_it_trains(job)

    def completed(self, job, folder):
        (folder / "hurry").touch()
        self.until(lambda: self.json("show", job)["ended_at"], f"job {job} does not end", SECONDS, lambda: self.told_of(job))
        shown = self.json("show", job)
        self.assertEqual(shown["state"], "COMPLETED", self.told_of(job))
        return shown

    def told_of(self, job):
        return self.call("why", job).stdout + self.logs(job)[-3000:]

    def test_those_that_stay_keep_their_processes_and_the_weights_their_bits(self):
        job, folder = self.train("resized", "1..8")
        self.until_it_trains(job)
        before = self.processes(job)
        for size in SIZES:
            self.resize(job, size)
            after = self.processes(job)
            stay = min(len(before), size)
            self.assertEqual(after[:stay], [each for each in before if each in after], f"{before} became {after}\n{self.told_of(job)}{self.call('events').stdout[-6000:]}{self.told()}")
            self.assertGreater(len({machine for machine, _ in after}), 1, after)
            before = after
        shown = self.completed(job, folder)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        seen = {}
        for epoch, indices in self.found(job, r"SAW (\d+) (.*)$"):
            seen.setdefault(int(epoch), []).extend(map(int, indices.split()))
        self.assertEqual({epoch: sorted(indices) for epoch, indices in seen.items()}, {epoch: list(range(SAMPLES)) for epoch in range(EPOCHS)})

        alone, its_folder = self.train("alone", "1")
        self.completed(alone, its_folder)
        expected = self.digests(alone)
        self.assertEqual(sorted(expected), list(range(1, EPOCHS * BATCHES + 1)))
        self.assertEqual(self.digests(job), expected)


if __name__ == "__main__":
    skip_unless_permitted()
    unittest.main()
