"""Jobs of the runtime that are resized, and lose workers, while those that stay keep their processes: between a real server, its
agent and real trainings."""

import json
import os
import re
import signal
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
from first_hour_test import can_train
from people import BINARY
from box import Box

PATIENCE = 120  # seconds
SAMPLES = 600  # an epoch
SCRIPT = """
import os, sys, time
import paceline, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

job = paceline.init()
points = torch.rand(600, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
train_set = TensorDataset(points, (points.square().sum(1) < 0.6).long(), torch.arange(600))
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)).to(job.device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
job.distribute(model, optimizer)
job.on_resize(lambda old, new: print("RESIZED", old, new, flush=True))
for epoch in job.epochs(int(sys.argv[1])):
    for x, y, index in job.batches(train_set, global_batch_size=30, seed=1):
        print("SAW", epoch, job.generation, *index.tolist(), flush=True)
        loss = F.cross_entropy(model(x.to(job.device)), y.to(job.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.step(loss=loss)
        time.sleep(0.01 if os.path.exists(sys.argv[2]) else 0.4)
    if job.rank == 0:
        print("WEIGHTS", epoch, sum(float(each.double().abs().sum()) for each in model.parameters()), flush=True)
job.finish()
"""


class Trainings(unittest.TestCase):
    """A server, and jobs of that script."""

    python, script_text = "/usr/bin/python3", SCRIPT
    longer = 1  # than newcomers take here to get ready
    options = ()

    @classmethod
    def setUpClass(cls):
        if not can_train():
            raise unittest.SkipTest("without PyTorch")

    def setUp(self):
        self.box = Box(BINARY, slots=4)
        self.addCleanup(self.box.close)
        self.box.up(*self.options)
        self.script = self.box.directory.with_suffix(".py")
        self.script.write_text(self.script_text)
        self.addCleanup(self.script.unlink)
        self.hurry = self.box.directory.with_suffix(".hurry")
        self.addCleanup(self.hurry.unlink, missing_ok=True)

    def start(self, workers, epochs, *options):
        job = self.box.submit("--slots", workers, *options, "--", self.python, str(self.script), str(epochs * self.longer), str(self.hurry))
        self.until(job, lambda: "SAW" in self.logs(job), "does not train")
        return job

    def logs(self, job):
        return self.box.call("logs", str(job)).stdout

    def until(self, job, happened, what):
        self.box.until(happened, PATIENCE, f"job {job} {what}", told=lambda: self.logs(job)[-3000:] + self.box.call("show", str(job)).stdout)

    def pids(self, job):
        return [worker["pid"] for worker in self.box.job(job)["gang"]]

    def completed(self, job):
        """It took its time until here."""
        self.hurry.touch()
        self.until(job, lambda: self.box.job(job)["ended_at"], "does not end")
        shown = self.box.job(job)
        self.assertEqual(shown["state"], "COMPLETED", self.logs(job)[-3000:])
        return shown

    def expect_each_sample_once_an_epoch(self, job, epochs, dead=0):
        """Where a worker died, all began its last step once more."""
        seen = {}
        for epoch, indices in re.findall(r"SAW (\d+) \d+ (.*)", self.logs(job)):
            seen.setdefault(int(epoch), []).extend(map(int, indices.split()))
        self.assertEqual(sorted(seen), list(range(epochs * self.longer)))
        repeated = 0
        for epoch, indices in seen.items():
            self.assertEqual(set(indices), set(range(SAMPLES)), f"epoch {epoch}")
            repeated += len(indices) - SAMPLES
        self.assertLessEqual(repeated, 30 * dead)

    def weights(self, job):
        return [float(each) for each in re.findall(r"WEIGHTS \d+ (\S+)", self.logs(job))]


class InPlaceTest(Trainings):
    def test_those_that_stay_keep_their_processes(self):
        job = self.start("1..4", 15)
        self.box.resize(job, 2)
        two = self.pids(job)
        self.box.resize(job, 4)
        four = self.pids(job)
        self.assertEqual(four[:2], two)
        self.box.resize(job, 1)
        self.assertEqual(self.pids(job), two[:1])
        self.box.resize(job, 3)
        self.assertEqual(self.pids(job)[:1], two[:1])
        shown = self.completed(job)
        self.assertEqual((shown["attempt"], shown["preemptions"], shown["retries_used"]), (1, 0, 0))
        self.assertEqual(shown["lost_slot_seconds"]["failure"], 0)
        self.expect_each_sample_once_an_epoch(job, 15)
        fixed = self.start("1", 15)
        self.completed(fixed)
        for one, other in zip(self.weights(job), self.weights(fixed), strict=True):
            self.assertAlmostEqual(one, other, delta=1e-3 * self.longer)

    def test_a_newcomer_finds_what_the_setup_of_those_before_it_made(self):
        file = self.box.directory.with_suffix(".yaml")
        self.addCleanup(file.unlink)
        run = [self.python, str(self.script), str(15 * self.longer), str(self.hurry)]
        file.write_text(json.dumps({"setup": "echo SET UP", "run": run, "resources": {"slots": "1..2"}}))
        job = self.box.submit("-f", str(file))
        self.until(job, lambda: "SAW" in self.logs(job), "does not train")
        self.box.resize(job, 1)
        first = self.pids(job)
        self.box.resize(job, 2)
        self.assertEqual(self.pids(job)[:1], first)
        self.completed(job)
        self.assertEqual(self.logs(job).count("SET UP"), 1)

    def test_the_others_go_on_where_one_dies(self):
        job = self.start("2..3", 13, "--retry", "0")
        self.box.wait_workers(job, 3)
        before = self.pids(job)
        os.kill(before[1], signal.SIGKILL)
        self.until(job, lambda: before[1] not in self.pids(job), "keeps a worker that died")
        self.assertEqual([pid for pid in self.pids(job) if pid in before], [before[0], before[2]])
        shown = self.completed(job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        self.expect_each_sample_once_an_epoch(job, 13, dead=1)

    def test_the_others_wait_for_one_in_place_of_the_dead(self):
        """A job that is not to be resized: alone the other is too few."""
        job = self.start("2", 13, "--elastic", "no", "--retry", "0")
        before = self.pids(job)
        os.kill(before[1], signal.SIGKILL)
        self.until(job, lambda: before[1] not in self.pids(job), "keeps a worker that died")
        self.box.wait_workers(job, 2)
        self.assertEqual(self.pids(job)[0], before[0])
        shown = self.completed(job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        self.assertEqual(shown["lost_slot_seconds"]["failure"], 0)
        self.assertIn("paceline: ranks were lost; 2 of 2 go on after step", self.logs(job))
        self.expect_each_sample_once_an_epoch(job, 13, dead=1)

    def test_the_others_go_on_where_one_is_stopped(self):
        job = self.start("2..3", 15, "--retry", "0")
        self.box.wait_workers(job, 3)
        before = self.pids(job)
        os.kill(before[2], signal.SIGSTOP)
        self.until(job, lambda: before[2] not in self.pids(job), "keeps a worker that a signal stopped")
        self.assertEqual(self.pids(job)[:2], before[:2])
        endings = [event["ending"] for event in self.box.events() if event["kind"] == "worker_ended"]
        self.assertIn("A signal had stopped it", endings[0]["message"])
        self.completed(job)
        self.expect_each_sample_once_an_epoch(job, 15, dead=1)

    def test_a_pause_stops_nobody(self):
        job = self.start("2..2", 13)
        before = self.pids(job)
        self.box.call("pause", str(job))
        time.sleep(4)  # longer than others wait for a worker that is stopped
        self.box.call("resume", str(job))
        self.completed(job)
        self.assertEqual(re.findall(r"SAW \d+ [^1]", self.logs(job)), [], "another generation")
        self.assertEqual(len(before), 2)
        self.expect_each_sample_once_an_epoch(job, 13)

    def test_a_training_outlives_server_and_agent_in_the_middle_of_a_resize(self):
        job = self.start("1..4", 15)
        self.box.resize(job, 1)
        self.box.call("resize", str(job), "--workers", "4")
        self.box.kill()
        self.box.up()
        self.box.wait_workers(job, 4)
        self.completed(job)
        self.expect_each_sample_once_an_epoch(job, 15)

    def test_a_job_that_wants_restarts_gets_them(self):
        job = self.start("1..2", 8, "--env", "PACELINE_RESIZE=restart")
        shown = self.box.job(job)
        self.assertEqual(shown["state"], "RUNNING")
        self.box.call("resize", str(job), "--workers", "1")
        reason = json.loads(self.box.call("why", str(job), "-o", "json").stdout)
        self.assertEqual(reason["waits"], None)
        self.assertEqual(self.box.job(job)["workers"], 2, "it never saved")
        self.completed(job)


class ImpatientTest(Trainings):
    """A server that waits for seconds where others wait for minutes."""

    # Workers that are not among the first are never ready.
    script_text = "import os, time\nif os.environ['PACELINE_GENERATION'] != '1':\n    time.sleep(600)\n" + SCRIPT
    options = ("--limit", "newcomers-wait=3s", "--limit", "replacements-wait=1s")

    def test_newcomers_that_are_not_ready_in_time_end_and_the_others_go_on(self):
        job = self.start("1..2", 8)
        self.box.resize(job, 1)
        before = self.pids(job)
        self.box.call("resize", str(job), "--workers", "2")
        said = f"Job {job}: the workers that were to join it were not ready within 3 s."
        self.until(job, lambda: said in self.box.log.read_text(), "waits on for newcomers")
        self.box.call("resize", str(job), "--workers", "1")
        self.box.wait_workers(job, 1)
        self.assertEqual(self.pids(job), before)
        shown = self.completed(job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        self.expect_each_sample_once_an_epoch(job, 8)

    def test_who_finds_no_room_in_place_of_the_dead_starts_anew(self):
        job = self.start("2", 8, "--elastic", "no", "--retry", "0")
        node = self.box.json("nodes")["nodes"][0]["name"]
        self.box.call("drain", node, "--keep")
        os.kill(self.pids(job)[1], signal.SIGKILL)
        said = f"Job {job} starts anew: there was no room within 1 s for others in place of those that died."
        self.until(job, lambda: said in self.box.log.read_text(), "waits on for others")
        self.box.wait_state(job, "PENDING")
        self.assertEqual(self.box.job(job)["retries_used"], 0)


if __name__ == "__main__":
    unittest.main()
