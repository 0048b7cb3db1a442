"""A server and the machines that lend it their slots, on a network of their own. Shared by the tests of this folder.

    class MyTest(Lab):
        def test_it(self):
            gpu = self.join("gpu-1", "--slots", "2")
            job = self.submit("--slots", "3", "--", "python3", "train.py")
"""

import json
import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from machines import Network

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).resolve()
SECONDS = 60
PORT = 7443


class Node:
    """A machine with an agent."""

    def __init__(self, lab, name, machine, options):
        self.lab, self.name, self.machine, self.options = lab, name, machine, options
        self.directory = lab.folder / name
        self.log = lab.folder / f"{name}.log"
        self.agent = None

    def begin(self, *words):
        """The agent, as after a boot: it knows its server already."""
        with open(self.log, "ab") as log:
            self.agent = self.machine.start([BINARY, "agent", "--dir", self.directory, "--serve-root", *self.options, *words], self.lab.environment, log)

    def said(self):
        return self.log.read_text() if self.log.exists() else ""


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class Lab(unittest.TestCase):
    box_name = "box"
    box_slots = 1
    server_options = ()

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="paceline-lab-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.directory = self.folder / "server"
        (self.folder / "bin").mkdir()
        (self.folder / "bin/paceline").symlink_to(BINARY)
        home = self.folder / "home"
        home.mkdir()
        self.environment = {"HOME": str(home), "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LANG": "C.UTF-8",
                            "PACELINE_DIR": str(self.directory)}
        self.network = self.enterContext(Network())
        self.box = self.network.machine(self.box_name)
        self.address = f"{self.box.address}:{PORT}"
        self.nodes = {}
        self.up()

    # ---- the server ----

    def up(self):
        with open(self.folder / "server.log", "ab") as log:
            self.server = self.box.start([BINARY, "up", "--listen", self.address, "--slots", str(self.box_slots), *self.server_options],
                                         self.environment, log)
        self.until(lambda: self.call("nodes", check=False).returncode == 0, "the server does not answer")

    def call(self, *words, check=True, given="", machine=None, cwd=None):
        done = (machine or self.box).run(BINARY, *words, check=False, env=self.environment, cwd=cwd or self.folder, input=given)
        if check:
            self.assertEqual(done.returncode, 0, f"paceline {' '.join(map(str, words))}: {done.stderr}{self.told()}")
        return done

    def json(self, *words):
        return json.loads(self.call(*words, "-o", "json").stdout)

    def submit(self, *words):
        return self.call("submit", "--parsable", *words).stdout.strip()

    def state(self, job):
        return self.json("show", job)["state"]

    def node(self, name):
        return next((node for node in self.json("nodes")["nodes"] if node["name"] == name), None)

    def events(self):
        return [json.loads(line) for line in self.call("events", "-o", "json").stdout.splitlines()]

    # ---- the others ----

    def invite(self, *words):
        """The line to paste on the other machine."""
        return self.call("node", "invite", *words).stdout.strip()

    def join(self, name, *options, line=None, machine=None):
        """A machine that joins as a person would make it: the line is pasted there. A new one, or `machine`."""
        node = Node(self, name, machine or self.network.machine(name), options)
        self.nodes[name] = node
        line = line or self.invite()
        with open(node.log, "ab") as log:
            words = " ".join(["exec", "sh", "-c", f"'{line} --serve-root --dir {node.directory} {' '.join(options)}'"])
            node.agent = node.machine.start(["sh", "-c", words], self.environment, log)
        self.until(lambda: (self.node(name) or {}).get("state") == "up", f"{name} does not join")
        return node

    def refusal(self, line, name="stranger", *options):
        """What the agent says, and the code it ends with, where it can't join."""
        machine = next((each for each in self.network.machines if each.name == name), None) or self.network.machine(name)
        done = machine.run("sh", "-c", f"{line} --dir {self.folder}/{name} --slots 1 {' '.join(options)}", check=False, env=self.environment,
                           input="")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def until(self, happened, what, seconds=SECONDS, told=lambda: ""):
        deadline = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline:
                self.fail(f"{what}\n{told()}\n{self.told()}")
            time.sleep(0.05)

    def until_state(self, job, *states):
        self.until(lambda: self.state(job) in states, f"job {job} is not {' or '.join(states)}")

    def told(self):
        """What server and agents said of late."""
        logs = [self.folder / "server.log", *[node.log for node in self.nodes.values()]]
        return "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in logs if log.exists())
