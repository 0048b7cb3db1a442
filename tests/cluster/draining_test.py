"""What draining a machine is told to cost beforehand is what it costs: a gang that goes on smaller, and beside it a job that is
stopped."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab import ROOT, Lab
from machines import skip_unless_permitted

PYTHON = "/usr/bin/python3"
TOLERANCE = 0.2


class WhatADrainCosts(Lab):
    def setUp(self):
        super().setUp()
        for name, slots in (("gpu-1", "3"), ("gpu-2", "2")):
            self.join(name, "--slots", slots, "--label", "trains=yes", "--label", f"name={name}")

    def told_of(self, said, job):
        return float(re.search(rf"job {job} of root .* about ([\d.]+) slot-seconds", said)[1])

    def lost(self, job):
        return sum(self.json("show", job)["lost_slot_seconds"].values())

    def until_it_trains_with(self, job, workers):
        def runs():
            shown = self.json("show", job)
            return shown["state"] == "RUNNING" and shown["workers"] == workers
        self.until(runs, f"job {job} does not run with {workers} workers", told=lambda: self.call("why", job).stdout)
        saved = self.json("show", job)["checkpoint"]
        self.until(lambda: self.json("show", job)["checkpoint"] != saved, f"job {job} saves nothing")

    def test_of_two_at_once(self):
        rigid = self.submit("--elastic", "no", "--affinity", "label:name=gpu-1", "--", "sleep", "1000")
        self.until_state(rigid, "RUNNING")
        gang = self.submit("--slots", "2..4", "--elastic", "restart", "--affinity", "label:trains=yes", "--workdir", self.folder, "--",
                           PYTHON, ROOT / "tests/e2e/saves_slowly.py", "0.2", "2")
        self.until_it_trains_with(gang, 4)
        for workers in (3, 4):  # by which it is known how long that takes it
            self.call("resize", gang, "--workers", str(workers))
            self.until_it_trains_with(gang, workers)
        self.call("resize", gang, "--workers", "2..4")
        before = {job: self.lost(job) for job in (gang, rigid)}
        said = self.call("drain", "gpu-1", "--within", "5s", "--yes").stdout
        self.assertIn("goes on with 2 of its 4 workers", said)
        self.assertTrue(said.endswith("gpu-1 is empty.\n"), said)
        self.until_it_trains_with(gang, 2)
        self.until_state(rigid, "PENDING")
        told = {job: self.told_of(said, job) for job in (gang, rigid)}
        came = {job: self.lost(job) - before[job] for job in (gang, rigid)}
        for job in (gang, rigid):
            self.assertAlmostEqual(came[job], told[job], delta=TOLERANCE * told[job], msg=f"{said}{came}")
        in_all = float(re.search(r"makes 2 jobs leave; about ([\d.]+) slot-seconds", said)[1])
        self.assertAlmostEqual(sum(came.values()), in_all, delta=TOLERANCE * in_all)
        for job in (gang, rigid):
            self.call("cancel", job)

    def test_none_takes_the_jobs_of_another_that_is_drained_with_it(self):
        job = self.submit("--slots", "2", "--elastic", "restart", "--affinity", "label:trains=yes", "--workdir", self.folder, "--",
                          PYTHON, ROOT / "tests/e2e/saves_slowly.py", "0.2", "2")
        self.until_it_trains_with(job, 2)
        nodes = sorted(("gpu-1", "gpu-2"), key=lambda name: name not in self.json("show", job)["nodes"])  # its own first
        said = self.call("drain", *nodes, "--within", "5s", "--yes").stdout
        self.assertIn(f"Draining {nodes[0]} and {nodes[1]} takes 5 slots out of use and makes 1 job leave", said)
        self.assertTrue(said.endswith(f"{nodes[0]} and {nodes[1]} are empty.\n"), said)
        self.until_state(job, "PENDING")
        self.assertEqual(self.json("show", job)["resizes"], 0, "it moved to a node that drains, too")
        self.call("cancel", job)


if __name__ == "__main__":
    skip_unless_permitted()
    unittest.main()
