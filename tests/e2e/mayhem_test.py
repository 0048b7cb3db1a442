"""SIGKILLs of the server, of the agent of another machine that joined it, and of supervisors, in the middle of a mix of jobs that
end well, fail, are tried again, run too long, are cancelled and resized, while the disk fills up and the clock is set by days: no
job is lost or made up, none ends otherwise than it must, none runs twice at once, and nothing is left behind. Half of the jobs run
on the machine that joined.

PACELINE_KILLS=500 kills that often (40 by default). The seed is printed; PACELINE_SEED=n repeats a run's choices. Runs in a
mount and a pid namespace of its own, with the server's directory on a small disk.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from agents import Agent, invite
from box import Failed, workers_of
from boxes import APART, BINARY, FAKETIME, SmallDisk, WrongBox, go_apart
from rough_jobs import WORKER, kinds

KILLS = int(os.environ.get("PACELINE_KILLS", 40))
SLOTS = 4
DAYS = 86400
CLOCK_DAYS = 10  # how far the clock is set at most
THERE = ("--affinity", "label:site=there")

KINDS = kinds(gang=3, most=3, longest=1.0)


class ListeningBox(WrongBox):
    """One that other machines may join. Its first clock is the earliest of all: what it vouches for holds from then on."""

    address = None

    def up(self, *options):
        self.ahead = self.directory.with_suffix(".ahead")
        if not self.address:
            self.set_clock(-(CLOCK_DAYS + 1) * DAYS)
            self.address = f"127.0.0.1:{free_port()}"
        super().up("--listen", self.address, *options)


def free_port():
    """None that the kernel gives to whoever asks for any: it is to be free again after each kill."""
    for port in random.sample(range(10_000, 20_000), 100):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failed("no port is free")


class Machine(Agent):
    """The one that joined the box, with a disk and a clock that are well."""

    def __init__(self, box):
        super().__init__(BINARY, tempfile.mkdtemp(prefix="paceline-agent-"))
        token, address = invite(box, "--label", "site=there")
        self.up("--join", address, "--token", "-", token=token)
        box.until(lambda: "there lends" in self.said(), 60, "the machine did not join", told=self.said)

    def up(self, *options, token=None):
        self.start("--node", "there", "--slots", str(SLOTS), "--serve-root", *options, token=token)

    def processes(self):
        return workers_of(self.directory)


class Mayhem:
    """A box, and a machine that joined it, to which all of that is done."""

    def __init__(self, box, machine, disk, choices, notes):
        self.box, self.machine, self.disk, self.random, self.notes = box, machine, disk, choices, notes
        self.wanted = {}  # the kind of each job that was acknowledged, by its name
        self.doubtful = {}  # of those that were not: the disk was full, or the server was killed
        self.numbers = {}  # the ids of those acknowledged, by name
        self.done = Counter()

    def submit(self):
        kind = self.random.choice(list(KINDS))
        name = f"{kind}-{len(self.wanted) + len(self.doubtful)}"
        options, failures, seconds, _ = KINDS[kind]
        where = THERE if self.random.random() < 0.5 else ()
        lasts = seconds if seconds > 100 else self.random.uniform(0.05, seconds)
        try:
            self.numbers[name] = self.box.submit(
                "--name", name, *options, *where, "--env", f"NOTES={self.notes}", "--env", f"FAILURES={failures}",
                "--env", f"SECONDS_TO_RUN={lasts:.2f}", "--", "sh", "-c", WORKER)
            self.wanted[name] = kind
        except Failed:
            self.doubtful[name] = kind

    def ask(self, kind, *request):
        """Something that may be refused: the job is over, or the disk is full."""
        of_kind = [number for name, number in self.numbers.items() if self.wanted[name] == kind]
        if of_kind:
            number = self.random.choice(of_kind[-6:])
            self.done[request[0]] += self.box.call(request[0], str(number), *request[1:], check=False).returncode == 0

    def kill_supervisor(self):
        workers = self.box.processes() + self.machine.processes()
        supervisors = sorted({parent_of(pid) for pid in workers} - {0, 1})
        supervisors = [pid for pid in supervisors if is_supervisor(pid)]
        if supervisors:
            os.kill(self.random.choice(supervisors), signal.SIGKILL)
            self.done["supervisor killed"] += 1

    def kill_server(self):
        if self.random.random() < 0.3:  # in the middle of what it is asked
            asking = subprocess.Popen([self.box.binary, "queue"], env=self.box.environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            self.box.kill()
            asking.wait()
        else:
            self.box.kill()
        self.done["server killed"] += 1
        if self.random.random() < 0.3:
            self.kill_supervisor()
        self.set_clock()
        self.make_room()
        self.box.up()

    def kill_agent(self):
        self.machine.end(signal.SIGKILL)
        self.done["agent killed"] += 1
        if self.random.random() < 0.3:
            self.kill_supervisor()
        self.machine.up()

    def kills(self):
        return sum(self.done[f"{what} killed"] for what in ("server", "agent", "supervisor"))

    def set_clock(self):
        self.box.set_clock(self.random.choice([0, self.random.randint(-CLOCK_DAYS * DAYS, CLOCK_DAYS * DAYS)]))
        self.done["clock set"] += 1

    def fill_disk(self):
        if not self.disk.ballast.exists():
            self.disk.fill_blocks()
            self.done["disk filled"] += 1

    def make_room(self):
        if self.disk.ballast.exists():
            self.disk.make_room()

    def disturb(self):
        deed = self.random.choice([self.submit] * 8 + [self.kill_server] * 3 + [self.kill_agent] * 3
                                  + [self.kill_supervisor] * 4 + [self.fill_disk] + [self.make_room] * 3 + [self.set_clock]
                                  + [lambda: self.ask("cancelled", "cancel")] * 3
                                  + [lambda: self.ask("resized", "resize", "--workers", str(self.random.randint(1, 3)))] * 2)
        deed()
        time.sleep(self.random.uniform(0, 0.2))

    def calm(self):
        """A server that began while its clock was ahead would not be believed by the machine before it begins anew."""
        self.make_room()
        self.box.set_clock(0)
        self.box.kill()
        self.box.up()
        for job in self.box.jobs():
            if job["name"].startswith("cancelled") and not job["ended_at"]:
                self.box.call("cancel", str(job["id"]))


def parent_of(pid):
    """0: it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


def is_supervisor(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [b"supervise"]
    except OSError:
        return False


@unittest.skipUnless(FAKETIME, "libfaketime is not installed")
class MayhemTest(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("PACELINE_SEED", random.SystemRandom().randrange(10**6)))
        print(f"seed {self.seed}", flush=True)
        self.notes = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="paceline-notes-")))
        self.disk = SmallDisk(SLOTS, "size=96M,nr_inodes=20000", ListeningBox)
        self.addCleanup(self.disk.close)
        self.box = self.disk.box
        self.machine = Machine(self.box)
        self.addCleanup(self.machine.close)

    def test_nothing_is_lost_doubled_or_left(self):
        mayhem = Mayhem(self.box, self.machine, self.disk, random.Random(self.seed), self.notes)
        while mayhem.kills() < KILLS:
            mayhem.disturb()
        mayhem.calm()
        ended = self.box.wait_all(seconds=600)
        print(f"{len(ended)} jobs; {dict(mayhem.done)}", flush=True)
        self.assert_each_once(mayhem, ended)
        for job in ended:
            self.assert_ended_well(job, mayhem)
        self.assertFalse((self.notes / "doubled").exists(), "a worker was started beside itself")
        self.assertGreater(mayhem.done["agent killed"], 0)
        for directory in (self.box.directory, self.machine.directory):
            self.assertGreater(self.starts_by(directory), 0, directory)
        self.assert_nothing_left()
        before = [(job["id"], job["name"], job["state"]) for job in ended]
        self.box.kill()
        self.box.up()
        self.assertEqual([(job["id"], job["name"], job["state"]) for job in self.box.jobs()], before)

    def assert_each_once(self, mayhem, ended):
        names = Counter(job["name"] for job in ended)
        self.assertEqual({name for name, times in names.items() if times > 1}, set(), "a job is there twice")
        self.assertEqual(set(mayhem.wanted) - set(names), set(), "a job was lost")
        self.assertEqual(set(names) - set(mayhem.wanted) - set(mayhem.doubtful), set(), "a job was made up")
        self.assertEqual({job["name"]: job["id"] for job in ended if job["name"] in mayhem.numbers}, mayhem.numbers)

    def assert_ended_well(self, job, mayhem):
        kind = mayhem.wanted.get(job["name"]) or mayhem.doubtful[job["name"]]
        options, failures, _, may_end = KINDS[kind]
        told = {key: job[key] for key in ("id", "name", "state", "retries_used", "attempt", "reason", "ending")}
        if job["state"] not in may_end:
            self.fail(f"{told}\n{self.story_of(job['id'])}")
        allowed = int(options[1]) if options[0] == "--retry" else 0
        self.assertLessEqual(job["retries_used"], min(allowed, failures), told)
        if kind == "fails":
            self.assertEqual(job["retries_used"], allowed, told)

    def story_of(self, number):
        """The events that name the job, and what it noted."""
        events = self.box.call("events", "-o", "json").stdout.splitlines()
        of_job = [event for event in events if f'"job":{number},' in event]
        notes = [f"{path.name}: {path.read_text()}" for path in self.notes.glob(f"{number}.*")]
        return "\n".join(of_job + notes + [self.box.call("logs", str(number), check=False).stdout])

    def starts_by(self, directory):
        return sum(line.split()[1] == str(directory) for path in self.notes.glob("*.starts") for line in path.read_text().splitlines())

    def assert_nothing_left(self):
        for place in (self.box, self.machine):
            self.assertEqual(place.processes(), [], "a process was left behind")
            workers = place.directory / "agent/workers"
            self.box.until(lambda: not list(workers.iterdir()), 30, f"a claim was left behind in {workers}")


if __name__ == "__main__":
    if APART not in os.environ:
        go_apart()
    unittest.main()
