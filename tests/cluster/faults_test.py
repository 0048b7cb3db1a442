"""Eight machines that joined a server, and everything that can go wrong with them while jobs of all kinds run there: agents and the
server are killed, machines are cut off (one way or both, for longer than their lease too), drained, removed, switched off and on
again. Every job ends as it must and runs exactly as often as the journal says, no process of it beside an earlier one, and nothing
is left behind.

PACELINE_FAULTS=60 PACELINE_JOBS=200 is the long form. The seed is printed; PACELINE_SEED=n repeats a run's choices.
"""

import json
import os
import random
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab import ROOT, Lab
from machines import skip_unless_permitted

sys.path.insert(0, str(ROOT / "script"))
from box import workers_of
from rough_jobs import WORKER, kinds

FAULTS = int(os.environ.get("PACELINE_FAULTS", 12))
JOBS = int(os.environ.get("PACELINE_JOBS", 40))
MACHINES = 8
LEASE = 10  # seconds
LOST = LEASE * 1.05 + 30  # after a cut, until what ran there may start elsewhere

KINDS = kinds(gang=5, most=6, longest=4.0)


class Faults:
    """What is done to the machines, and what mends each, later."""

    def __init__(self, lab, choices):
        self.lab, self.random = lab, choices
        self.well = list(lab.nodes)  # names of machines with nothing wrong
        self.mends = []  # (when, what)
        self.done = Counter()
        self.joined = 0

    def machine(self):
        """One with nothing wrong, which from here on has something; None: there is none."""
        if len(self.well) <= 2:
            return None
        name = self.random.choice(self.well)
        self.well.remove(name)
        return self.lab.nodes[name]

    def later(self, seconds, mend, node=None):
        def whole():
            mend()
            if node:
                self.well.append(node.name)
        self.mends.append((time.monotonic() + seconds, whole))

    def mend(self, everything=False):
        due = [each for each in self.mends if everything or each[0] <= time.monotonic()]
        for each in sorted(due, key=lambda each: each[0]):
            self.mends.remove(each)
            each[1]()

    def kill_server(self):
        self.lab.server.kill()
        time.sleep(self.random.uniform(0, 2))
        self.lab.up()

    def kill_agent(self, node):
        node.agent.kill()
        self.later(self.random.uniform(0, 4), node.begin, node)

    def cut(self, node):
        outgoing, incoming = self.random.choice([(True, True), (True, False), (False, True)])
        node.machine.cut(outgoing, incoming)
        seconds = self.random.choice([self.random.uniform(0, 5), self.random.uniform(15, 25), LOST + self.random.uniform(0, 20)])
        self.done["cut for longer than its lease"] += seconds > LOST
        self.later(seconds, node.machine.heal, node)

    def drain(self, node):
        how = self.random.choice([(), ("--within", "3s")])
        self.lab.call("drain", node.name, "--no-wait", "--yes", *how)
        self.later(self.random.uniform(2, 10), lambda: self.lab.call("undrain", node.name), node)

    def remove(self, node):
        """Its workers end with their lease; the machine joins anew, under another name and with a directory of its own."""
        self.lab.call("node", "remove", node.name, "--yes")
        self.later(LEASE + self.random.uniform(0, 5), lambda: self.join_anew(node))

    def join_anew(self, node):
        if node.agent.runs():
            node.agent.kill()
        self.joined += 1
        again = self.lab.join_on(node.machine, f"again-{self.joined}")
        self.well.append(again.name)

    def switch_off(self, node):
        node.machine.power_off()
        if self.random.random() < 0.5:
            self.lab.until(lambda: self.lab.node(node.name)["state"] != "up", "nobody notices")
            self.lab.call("node", "remove", node.name, "--is-off", "--yes")
            self.done["said to be off"] += 1
            self.later(self.random.uniform(0, 5), lambda: (node.machine.power_on(), self.join_anew(node)))
        else:
            self.later(self.random.uniform(0, 20), lambda: (node.machine.power_on(), node.begin()), node)

    def one(self):
        """False: there was no machine for it."""
        deed = self.random.choice(["kill_server", "kill_agent", "kill_agent", "cut", "cut", "cut", "drain", "remove", "switch_off"])
        if deed == "kill_server":
            self.kill_server()
        elif node := self.machine():
            getattr(self, deed)(node)
        else:
            return False
        self.done[deed] += 1
        return True


class ManyFaults(Lab):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("PACELINE_SEED", random.SystemRandom().randrange(10**6)))
        print(f"seed {self.seed}", flush=True)
        self.random = random.Random(self.seed)
        self.notes = self.folder / "notes"
        self.notes.mkdir()
        self.kinds = {}  # of jobs, by id
        self.past = []  # directories of machines that joined anew
        for number in range(MACHINES):
            self.join(f"gpu-{number}", "--slots", "2", "--lease", f"{LEASE}s")
        self.faults = Faults(self, self.random)

    def join_on(self, machine, name):
        node = self.join(name, "--slots", "2", "--lease", f"{LEASE}s", "--node", name, machine=machine)
        self.past.extend(other.directory for other in self.nodes.values() if other.machine is machine and other is not node)
        return node

    def submit_one(self):
        kind = self.random.choice(list(KINDS))
        options, failures, seconds, _ = KINDS[kind]
        lasts = seconds if seconds > 100 else self.random.uniform(0.1, seconds)
        job = self.submit("--name", kind, *options, "--env", f"NOTES={self.notes}", "--env", f"FAILURES={failures}",
                          "--env", f"SECONDS_TO_RUN={lasts:.2f}", "--", "sh", "-c", WORKER)
        self.kinds[int(job)] = kind

    def cancel_one(self):
        for job in self.jobs():
            if job["name"] == "cancelled" and not job["ended_at"] and (job["started_at"] or self.random.random() < 0.3):
                cancelled = self.call("cancel", str(job["id"]), check=False)
                if cancelled.returncode != 0:  # meanwhile
                    self.assertIn("it is over", cancelled.stderr)
                return

    def jobs(self):
        return self.json("queue", "--all")["jobs"]

    def test_every_job_runs_as_often_as_the_journal_says(self):
        faults = 0
        while faults < FAULTS or len(self.kinds) < JOBS:
            if len(self.kinds) < JOBS:
                self.submit_one()
            if faults < FAULTS and faults * JOBS <= len(self.kinds) * FAULTS:
                faults += self.faults.one()
            if self.random.random() < 0.2:
                self.cancel_one()
            self.faults.mend()
            time.sleep(self.random.uniform(0, 0.5))
        while self.faults.mends:
            self.faults.mend()
            time.sleep(0.1)
        self.end_all()
        print(f"{len(self.kinds)} jobs; {dict(self.faults.done)}", flush=True)
        self.assert_ended_well()
        self.assertFalse((self.notes / "doubled").exists(), "a worker was started beside an earlier one")
        self.assert_as_journalled()
        self.assert_nothing_left()

    def end_all(self):
        def over():
            self.cancel_one()
            return all(job["ended_at"] for job in self.jobs())
        self.until(over, "not every job is over", seconds=300, told=self.not_over)

    def not_over(self):
        left = [job["id"] for job in self.jobs() if not job["ended_at"]]
        return "\n".join([self.call("why", str(job), check=False).stdout for job in left] + [self.call("nodes").stdout])

    def assert_ended_well(self):
        jobs = {job["id"]: job for job in self.jobs()}
        self.assertEqual(set(jobs), set(self.kinds), "a job is lost, or made up")
        for number, kind in self.kinds.items():
            options, failures, _, may_end = KINDS[kind]
            job = jobs[number]
            told = {key: job[key] for key in ("id", "name", "state", "retries_used", "attempt", "reason", "ending")}
            self.assertIn(job["state"], may_end, f"{told}\n{self.story_of(number)}")
            allowed = int(options[1]) if options[0] == "--retry" else 0
            self.assertLessEqual(job["retries_used"], min(allowed, failures), told)

    def story_of(self, number):
        of_job = [json.dumps(event) for event in self.events() if f'"job": {number},' in json.dumps(event)]
        return "\n".join(of_job + [f"{path.name}: {path.read_text()}" for path in self.notes.glob(f"{number}.*")])

    def assert_as_journalled(self):
        """A worker that noted its start was told as started or was to start, once; one that was told noted it, or was lost."""
        planned, started, lost = set(), set(), set()
        for event in self.events():
            if event["kind"] == "plan":
                planned |= {(change["job"], change["generation"], rank) for change in event["changes"] if change["kind"] in ("start", "resize", "move")
                            for rank in range(len(change["placement"]))}
            elif event["kind"] == "worker_started":
                started.add((event["job"], event["generation"], event["rank"]))
            elif event["kind"] == "worker_ended" and event["ending"]["cause"] != "exited":
                lost.add((event["job"], event["generation"], event["rank"]))
        noted = Counter()
        for path in self.notes.glob("*.starts"):
            job, rank, _ = path.name.split(".")
            noted.update((int(job), int(line.split()[0]), int(rank)) for line in path.read_text().splitlines())
        self.assertEqual([worker for worker, times in noted.items() if times > 1], [], "started more than once")
        self.assertEqual(set(noted) - planned, set(), "started, and no plan says so")
        self.assertEqual(started - set(noted) - lost, set(), "told as started, and never was")

    def assert_nothing_left(self):
        directories = {self.directory, *self.past, *(node.directory for node in self.nodes.values())}
        self.until(lambda: not any(workers_of(directory) for directory in directories), "a process is left behind")
        for node in [self.nodes[name] for name in self.faults.well]:
            workers = node.directory / "agent/workers"
            self.until(lambda workers=workers: not list(workers.iterdir()), f"a claim is left behind in {workers}")


if __name__ == "__main__":
    skip_unless_permitted()
    unittest.main()
