"""Where the time of a training's ranks goes: a real server, real trainings, and `paceline timeline` as Perfetto reads it."""

import collections
import contextlib
import json
import os
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from first_hour_test import can_train
from people import BINARY
from box import Box

PATIENCE = 120  # seconds
SCRIPT = """
import os, sys, time
import paceline, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

job = paceline.init()
points = torch.rand(600, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
train_set = TensorDataset(points, (points.square().sum(1) < 0.6).long())
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
job.distribute(model, optimizer)
job.checkpoint(sys.argv[1], every=1)
for epoch in job.epochs(10_000):
    for x, y in job.batches(train_set, global_batch_size=30, seed=1):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.step(loss=loss)
        time.sleep(0.05)
    job.report(accuracy=job.evaluate(lambda batch: ((model(batch[0]).argmax(1) == batch[1]).sum(), len(batch[1])), train_set))
    if job.evaluate(lambda batch: (os.path.exists(sys.argv[1] + "/enough"), 1), train_set):  # all ranks know alike
        break
job.finish()
"""
WITHIN_A_STEP = {"data", "compute", "gradients", "others", "checkpoint"}


class Trace:
    """What `paceline timeline` printed. `spans`: those of the training's own tracks, by process, as (name, begin, end, args)."""

    def __init__(self, text):
        self.whole = json.loads(text)
        self.names, self.spans, self.beside = {}, collections.defaultdict(list), collections.defaultdict(list)
        for event in self.whole["traceEvents"]:
            if event["name"] == "process_name":
                self.names[event["pid"]] = event["args"]["name"]
            if event["ph"] == "X":
                track = self.spans if event["tid"] == 1 else self.beside
                track[event["pid"]].append((event["name"], event["ts"], event["ts"] + event["dur"], event["args"]))

    def steps(self, process):
        return {args["step"]: (begin, end) for name, begin, end, args in self.spans[process] if name == "step"}


@unittest.skipUnless(can_train(), "without PyTorch")
class TimelineTest(unittest.TestCase):
    def setUp(self):
        self.box = Box(BINARY, slots=4)
        self.addCleanup(self.box.close)
        self.box.up()
        self.folder = self.box.directory / "saved"
        self.folder.mkdir()

    def start(self, *options):
        return self.box.submit(*options, "--", "/usr/bin/python3", "-c", SCRIPT, str(self.folder))

    def trace(self, job, *options):
        done = self.box.call("timeline", *options, str(job), check=False)
        return Trace(done.stdout) if done.returncode == 0 else None

    def until(self, job, happened, what):
        self.box.until(happened, PATIENCE, f"job {job} {what}", told=lambda: self.box.call("logs", "--tail", "50", str(job)).stdout)

    def ended(self, job):
        (self.folder / "enough").touch()
        self.until(job, lambda: self.box.job(job)["ended_at"], "does not end")
        self.assertEqual(self.box.job(job)["state"], "COMPLETED", self.box.call("logs", str(job)).stdout[-3000:])

    def has_steps(self, job, generation, processes, count=5):
        def told():
            trace = self.trace(job)
            return trace and sum(
                sum(name == "step" and args["generation"] == generation for name, _, _, args in spans) >= count
                for spans in trace.spans.values()) >= processes

        self.until(job, told, f"tells of no steps of {processes} ranks in generation {generation}")

    def test_all_ranks_are_on_one_clock_through_resizes(self):
        job = self.start("--slots", "2..3")
        self.box.wait_workers(job, 3)
        first = self.box.job(job)["generation"]
        self.has_steps(job, first, 3)
        self.box.resize(job, 2)
        self.has_steps(job, self.box.job(job)["generation"], 2)
        self.until(job, lambda: any(event["kind"] == "worker_ended" for event in self.box.events()), "keeps the one that left")
        self.box.resize(job, 3)
        last = self.box.job(job)["generation"]
        self.has_steps(job, last, 3)
        self.ended(job)
        trace = self.trace(job)
        self.assertEqual(trace.whole["otherData"]["stalled"], None)
        self.assertEqual(len(trace.spans), 4, trace.names)
        self.assertEqual(sorted(name.split()[1] for name in trace.names.values()), ["0", "1", "2", "2"])
        clocks = trace.whole["otherData"]["clocks"]
        self.assertEqual({each["generation"] for each in clocks} >= {first, last}, True)
        self.assertEqual({each["uncertainty_us"] for each in clocks}, {0}, "one machine has one clock")
        for process in trace.spans:
            self.expect_whole(trace, process)
        self.expect_together(trace)
        survivors = [process for process, spans in trace.spans.items()
                     if {first, last} <= {args["generation"] for *_, args in spans}]
        self.assertEqual(len(survivors), 2)
        for process in survivors:
            self.assertGreaterEqual([name for name, *_ in trace.spans[process]].count("resize"), 2)
        self.assertEqual([len(trace.beside[process]) > 0 for process in survivors].count(True), 1, "rank 0 writes")
        ended = max(end for spans in trace.spans.values() for _, _, end, _ in spans)
        self.assertLess(abs(ended / 1e6 - self.box.job(job)["ended_at"]), 10, "times are those since 1970")
        self.expect_parts_of_it(job, trace)

    def expect_whole(self, trace, process):
        """Spans nest or follow each other; outermost ones fill all the time; steps are filled by what may be in a step."""
        spans = sorted(trace.spans[process], key=lambda each: (each[1], -each[2]))
        filled, stack = 0, []
        for name, begin, end, args in spans:
            while stack and stack[-1][2] <= begin:
                stack.pop()
            self.assertTrue(not stack or end <= stack[-1][2], f"{name} of {args} overlaps {stack}")
            if stack and stack[-1][0] == "step":
                self.assertIn(name, WITHIN_A_STEP)
                self.assertEqual(stack[-1][3]["step"], args["step"])
            if not stack:
                filled += end - begin
            stack.append((name, begin, end, args))
        wall = max(end for _, _, end, _ in spans) - spans[0][1]
        self.assertGreater(filled / wall, 0.99)
        self.assertGreater(wall, 0.5e6)

    def expect_together(self, trace):
        """The same step is under way on all ranks that take it at the same time."""
        by_step = collections.defaultdict(list)
        for process in trace.spans:
            for step, times in trace.steps(process).items():
                by_step[step].append(times)
        shared = [times for times in by_step.values() if len(times) > 1]
        self.assertGreater(len(shared), 10)
        for times in shared:
            self.assertLess(max(begin for begin, _ in times), min(end for _, end in times))

    def expect_parts_of_it(self, job, whole):
        one = self.trace(job, "--rank", "0")
        self.assertEqual(len(one.spans), 1)
        late = self.trace(job, "--last", "1s")
        ends = [end for spans in late.spans.values() for _, _, end, _ in spans]
        everyones = [end for spans in whole.spans.values() for _, _, end, _ in spans]
        self.assertEqual(max(ends), max(everyones))
        self.assertGreaterEqual(min(ends), max(everyones) - 2_000_000)

    def let_go_on(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def stacks(self, job):
        return {each["rank"]: each["text"] for each in json.loads(self.box.call("stacks", "-o", "json", str(job)).stdout)["ranks"]}

    def test_stacks_tell_what_each_rank_does(self):
        job = self.start("--slots", "2")
        self.box.wait_workers(job, 2)
        self.has_steps(job, self.box.job(job)["generation"], 2)
        for text in self.stacks(job).values():
            self.assertIn("MainThread", text)
        self.assertIn("== rank 0 on ", self.box.call("stacks", "--rank", "0", str(job)).stdout)
        self.ended(job)

    def test_a_stopped_rank_is_named(self):
        job = self.start("--slots", "2", "--env", "PACELINE_RESIZE=restart")  # in place its agent would end it
        self.box.wait_workers(job, 2)
        self.has_steps(job, self.box.job(job)["generation"], 2)
        stopped = self.box.job(job)["gang"][1]["pid"]
        os.kill(stopped, signal.SIGSTOP)
        self.addCleanup(self.let_go_on, stopped)
        self.until(job, lambda: "rank 1" in self.box.call("timeline", str(job)).stderr, "names no rank that holds up the others")
        said = self.box.call("timeline", str(job))
        stacks = self.stacks(job)
        self.assertIn("stopped", stacks[1])
        self.assertIn("No Python stacks", stacks[1])
        self.assertIn("Group::work", stacks[1])
        self.assertRegex(said.stderr, r"^paceline: When they told last, rank 0 had waited for others for \d+s \((gradients|others)\); "
                                      r"rank 1 on \S+ had told nothing for \d+s, and was in \w+ of step \d+ before\.$")
        self.assertIn(json.loads(said.stdout)["otherData"]["stalled"], said.stderr)
        self.let_go_on(stopped)
        self.ended(job)
        self.assertEqual(self.box.call("timeline", str(job)).stderr, "")

    def test_says_why_there_is_none(self):
        job = self.box.submit("--slots", "1", "--", "true")
        self.box.wait_state(job, "COMPLETED")
        done = self.box.call("timeline", str(job), check=False)
        self.assertEqual((done.returncode, done.stdout), (66, ""))
        self.assertIn(f"Job {job} has no timeline: none of its workers has told where its time goes.", done.stderr)


if __name__ == "__main__":
    unittest.main()
