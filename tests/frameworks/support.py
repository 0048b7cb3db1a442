"""What the tests of frameworks share: a server with some slots, and the commands of docs/frameworks.md, typed as they stand there."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import environments

ROOT = environments.ROOT
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline"))
PAGE = ROOT / "docs/frameworks.md"
PATIENCE = 300  # seconds


def command_with(words):
    """The one command of the page that has these words."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found = [line for block in blocks for line in block.replace("\\\n", "").splitlines() if words in line]
    if len(found) != 1:
        raise AssertionError(f"{PAGE.name} has {len(found)} commands with '{words}'")
    return found[0]


def needs_torch():
    if subprocess.run([environments.DEBIANS, "-c", "import torch"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("PyTorch is not installed: script/bootstrap --training-only")


class FrameworkTest(unittest.TestCase):
    """`framework`: the environment whose `python3` the commands find; None: Debian's. `further`: variables of the jobs."""

    slots = 2
    framework = None
    torch = True
    further = {}

    @classmethod
    def setUpClass(cls):
        if not os.environ.get("PACELINE_TEST_ALL"):
            raise unittest.SkipTest("only with script/test --all")
        if cls.torch:
            needs_torch()
        cls.python = environments.python(cls.framework) if cls.framework else Path(environments.DEBIANS)

    def setUp(self):
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="paceline-frameworks-")))
        (self.home / "examples").symlink_to(ROOT / "examples")
        (self.home / "bin").mkdir()
        (self.home / "bin/paceline").symlink_to(BINARY.resolve())
        self.box = Box(BINARY, slots=self.slots)
        self.addCleanup(self.box.close)
        self.box.environment |= {"HOME": str(self.home), "PATH": f"{self.python.parent}:{self.home}/bin:/usr/bin:/bin",
                                 "OMP_NUM_THREADS": "1", **self.further}
        self.box.up()

    def types(self, command, seconds=PATIENCE):
        """What it says on both streams; it must end well."""
        done = subprocess.run(["bash", "-c", command], cwd=self.home, env=self.box.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds)
        self.assertEqual(done.returncode, 0, f"$ {command}\n{done.stdout}")
        return done.stdout

    def submit(self, command):
        """The number of the job."""
        return int(re.search(r"Submitted job (\d+)", self.types(command))[1])

    def logs(self, job):
        return self.box.call("logs", str(job)).stdout

    def reports(self, job):
        lines = re.findall(r'^(?:\[\d+\] )?(\{"paceline": .*\})$', self.logs(job), re.MULTILINE)
        return [json.loads(line)["paceline"] for line in lines]

    def steps(self, job, key):
        """The steps of the reports that have the key."""
        return [report["step"] for report in self.reports(job) if key in report]

    def wait_log(self, job, words):
        self.until(lambda: re.search(words, self.logs(job)), job, f"never says '{words}'")

    def until(self, happened, job, what):
        over = lambda: self.box.job(job)["ended_at"] and not happened()
        self.box.until(happened, PATIENCE, f"job {job} {what}", unless=over, told=lambda: self.logs(job))

    def resize(self, job, workers):
        """Until it reports again, by so many workers, from after the checkpoint that it made for this."""
        known = len(self.steps(job, "checkpoint"))
        attempt = self.box.job(job)["attempt"] + 1
        self.box.call("resize", str(job), "--workers", str(workers))
        self.wait_log(job, f"attempt {attempt},.* of {workers},")
        self.assertGreater(len(self.steps(job, "checkpoint")), known, self.logs(job))
        reached = self.reports(job)[-1]["step"]
        self.until(lambda: self.reports(job)[-1]["step"] > reached, job, "does not go on")

    def expect_timeline(self, job, ranks, *names):
        """Each rank told of spans of these names, and of steps that follow each other."""
        trace = json.loads(self.box.call("timeline", str(job)).stdout)
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        last = max(span["args"]["generation"] for span in spans)
        found = {}
        for span in spans:
            if span["args"]["generation"] == last:
                found.setdefault(span["pid"], []).append((span["name"], span["args"]["step"]))
        self.assertEqual(len(found), ranks)
        for told in found.values():
            self.assertLessEqual({"step", "compute", *names}, {name for name, _ in told})
            steps = [step for name, step in told if name == "step"]
            self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))

    def pause_and_resume(self, job):
        """It is held where it is, and goes on."""
        self.box.call("pause", str(job))
        self.box.wait_state(job, "PAUSED", seconds=PATIENCE)
        self.box.call("resume", str(job))

    def expect_completed(self, job):
        """What `show` says of it then."""
        self.until(lambda: self.box.job(job)["ended_at"], job, "does not end")
        shown = self.box.job(job)
        self.assertEqual(shown["state"], "COMPLETED", self.logs(job))
        return shown
