"""One Paceline server in a directory of its own, driven through its command line. Shared by the demo and the tests.

    with Box(binary, slots=4) as box:
        job = box.submit("--slots", "2", "--", "python3", "train.py")
        box.kill()            # SIGKILL of the server; trainings go on
        box.up()
        box.wait_all(seconds=60)
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class Failed(Exception):
    """Something did not happen as it must; the message says what."""


class Box:
    def __init__(self, binary, slots, policy=None):
        self.binary, self.slots = str(binary), slots
        self.directory = Path(tempfile.mkdtemp(prefix="paceline-"))
        self.log = self.directory / "up.log"
        self.environment = {**os.environ, "PACELINE_DIR": str(self.directory)}
        self.options = ["--slots", str(slots)] + (["--policy", policy] if policy else [])
        self.server = None

    def __enter__(self):
        try:
            self.up(*self.options[2:])
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def up(self, *options):
        """Starts the server and waits until it answers."""
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen([self.binary, "up", "--slots", str(self.slots), *options],
                                           env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.until(lambda: self.call("nodes", check=False).returncode == 0, 30, "the server does not answer",
                    unless=lambda: self.server.poll() is not None)

    def until(self, happened, seconds, what, unless=lambda: False, told=lambda: ""):
        begun = time.monotonic()
        while not happened():
            passed = time.monotonic() - begun
            if unless() or passed > seconds:
                raise Failed(f"{what}:\n{told()}\n{self.log.read_text()[-4000:]}")
            time.sleep(min(0.1, 0.01 + passed / 10))  # looks cost: the longer it takes, the rarer they are

    def call(self, *arguments, check=True):
        done = subprocess.run([self.binary, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if check and done.returncode != 0:
            raise Failed(f"paceline {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def json(self, *arguments):
        return json.loads(self.call(*arguments, "-o", "json").stdout)

    def submit(self, *arguments):
        return int(self.call("submit", "--parsable", *arguments).stdout)

    def job(self, job):
        return self.json("show", str(job))

    def jobs(self):
        return self.json("queue", "--all")["jobs"]

    def events(self):
        """Those of the journal, in order."""
        return [json.loads(line) for line in self.call("events", "-o", "json").stdout.splitlines()]

    def wait_state(self, job, *states, seconds=60):
        self.until(lambda: self.job(job)["state"] in states, seconds, f"job {job} is not {' or '.join(states)}")
        return self.job(job)

    def wait_workers(self, job, workers, seconds=120):
        """Until the job runs with so many."""
        def runs():
            shown = self.job(job)
            return shown["state"] == "RUNNING" and shown["workers"] == workers

        self.until(runs, seconds, f"job {job} does not come to have {workers} workers", told=lambda: self._told_of(job))

    def resize(self, job, workers, seconds=120):
        """By its owner, until it runs with so many workers."""
        self.call("resize", str(job), "--workers", str(workers))
        self.wait_workers(job, workers, seconds)

    def wait_all(self, seconds):
        """Until every job is over."""
        self.until(lambda: all(job["ended_at"] for job in self.jobs()), seconds, "not every job is over", told=self._not_over)
        return self.jobs()

    def _not_over(self):
        """What the server says of each job that is not over, and of its nodes."""
        told = [self._told_of(job["id"]) for job in self.jobs() if not job["ended_at"]]
        return "\n".join(told + [self.call("nodes", check=False).stdout])

    def _told_of(self, job):
        return "".join(self.call(command, str(job), check=False).stdout for command in ("why", "show"))

    def kill(self):
        """SIGKILL of server and agent."""
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()

    def down(self):
        """Ends all jobs and the server."""
        self.call("down", "--jobs", check=False)
        try:
            self.server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()

    def close(self):
        try:
            if self.server and self.server.poll() is None:
                self.down()
        finally:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.directory, ignore_errors=True)

    def processes(self):
        """Pids of every process of a job of this server, however deep."""
        return workers_of(self.directory)


def workers_of(directory):
    """Pids of every process of a job that the server or agent of this directory started: they carry it in their environment."""
    mark = f"PACELINE_DIR={directory}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables and any(v.startswith(b"PACELINE_WORKER=") for v in variables):
            found.append(int(entry.name))
    return found
