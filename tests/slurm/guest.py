"""A server of one user on a login node of a Slurm cluster. Shared by the tests of this folder."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import LOGIN, UID, Cluster

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).resolve()
SECONDS = 90


class Guest(unittest.TestCase):
    """The server's own node starts nothing, so that all work goes to Slurm's."""

    options = ()
    drains_itself = True
    uid = UID  # whose server it is
    kind = Cluster

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(cls.kind())

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="paceline-guest-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        os.chown(self.folder, UID, UID)
        self.environment = {**self.cluster.environment, "PACELINE_DIR": str(self.folder / "dir"), "HOME": str(self.folder),
                            "TMPDIR": str(self.folder)}
        # On a file system that every user reads, as a cluster has one.
        self.program = self.folder / "paceline"
        shutil.copy(BINARY, self.program)
        self.address = self.listen = None
        self.up()
        self.addCleanup(self.end)
        if self.drains_itself:
            self.call("drain", self.own_node(), "--keep", "--reason", "login node")

    def up(self):
        listen = self.address or self.listen or f"{self.cluster.place_of(LOGIN)[1]}:0"
        with open(self.folder / "up.log", "ab") as log:
            self.server = subprocess.Popen(self.by_user(self.program, "up", "--slots", "1", "--listen", listen, *self.options),
                                           env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.until(lambda: self.call("nodes", check=False).returncode == 0, "the server does not answer")
        if self.address is None:
            self.address = re.findall(r"paceline login (\S+)", self.told())[-1]

    def by_user(self, *command, uid=None):
        """What runs it: as whoever is asked for, else as the server's user."""
        return self.cluster.as_user(command, self.folder, self.uid if uid is None else uid)

    def json(self, *words):
        return json.loads(self.call(*words, "-o", "json").stdout)

    def call(self, *words, check=True, uid=None):
        done = subprocess.run(self.by_user(self.program, *words, uid=uid), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"paceline {' '.join(map(str, words))}: {done.stderr}{self.told()}")
        return done

    def told(self):
        return (self.folder / "up.log").read_text()[-4000:]

    def until(self, happened, what, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline:
                told = "".join(self.call(*words, check=False).stdout for words in (("queue", "--all"), ("nodes",), ("slurm", "status")))
                raise AssertionError(f"{what}:\n{told}{self.told()}")
            time.sleep(0.1)

    def own_node(self):
        return self.json("nodes")["nodes"][0]["name"]

    def submit(self, *words):
        return int(self.call("submit", "--parsable", *words).stdout)

    def job(self, job):
        return self.json("show", job)

    def jobs(self):
        return self.json("queue", "--all")["jobs"]

    def why(self, job):
        return " ".join(self.json("why", job)["lines"])

    def connect(self, *words):
        return self.call("slurm", "connect", "--gres", "gpu:4", "--look-every", "1s", "--nodes-max", "2", *words)

    def assert_refused(self, code, *said):
        """`connect` is, in a sentence and what to do next, and nothing is left of it."""
        refused = self.call("slurm", "connect", check=False)
        self.assertEqual(refused.returncode, code, refused.stderr)
        self.assertEqual([line.strip() for line in refused.stderr.splitlines()], [f"paceline: {said[0]}", said[1]])
        self.assertFalse(self.status()["connected"])
        self.until(lambda: not self.cluster.run("squeue", "--me", "-h").stdout, "something is left in Slurm's queue")

    def status(self):
        return self.json("slurm", "status")

    def down(self):
        self.call("down")
        self.server.wait(timeout=60)

    def kill(self):
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()

    def end(self):
        """Whatever a test left is given back; then nothing of it runs anywhere."""
        if self.server.poll() is not None:
            self.up()
        self.call("down", "--jobs", check=False)
        self.server.wait(timeout=60)
        self.cluster.run("scancel", "--me", check=False)
        self.until_no_pilot()

    def until_no_pilot(self, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while self.cluster.pilots():
            self.assertLess(time.monotonic(), deadline, "a pilot is left")
            time.sleep(0.2)
        self.assertEqual(self.agents(), [], "an agent is left")

    def agents(self):
        """Pids of every process of a pilot, and of what it started: they carry the job in their environment."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    variables = (entry / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if any(v.startswith(b"SLURM_JOB_NAME=paceline-") for v in variables) and f"SLURM_CONF={self.cluster.root}/slurm.conf".encode() in variables:
                    found.append(int(entry.name))
        return found
