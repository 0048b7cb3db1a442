"""Starts gangs of real workers and reads what they report."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(EXAMPLES))

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "numpy", "PIL"))
needs_torch = unittest.skipUnless(HAS_TORCH, "needs what `script/bootstrap --training-only` installs")

TIMEOUT_S = 300
TINY = ["--batch", "32", "--report-every", "0", "--evaluate-every", "3600",
        "--checkpoint-every", "3600"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_tiny_digits(folder, train_count=640, test_count=100):
    """Writes a small set of drawn digits into `folder` as IDX files."""
    from common.glyphs import draw_glyphs, find_fonts, make_images
    from common.idx import write_idx

    glyphs = draw_glyphs(find_fonts()[:4])
    for seed, (prefix, count) in enumerate((("train", train_count), ("t10k", test_count))):
        images, labels = make_images(glyphs, count, seed)
        write_idx(Path(folder) / f"{prefix}-images-idx3-ubyte", images)
        write_idx(Path(folder) / f"{prefix}-labels-idx1-ubyte", labels)


class Gang:
    """The workers of one job, started as torchrun or Paceline would; a context manager."""

    def __init__(self, size, script, *arguments, **environment):
        inherited = {name: value for name, value in os.environ.items() if "PACELINE" not in name}
        self.port = free_port()
        self._shared = {**inherited, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": str(self.port), **environment}
        self._command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
        self._errors = tempfile.TemporaryFile("w+")
        self.reports = []
        self.workers = [self._start(rank) for rank in range(size)]
        self._timer = threading.Timer(TIMEOUT_S, self._kill)
        self._timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._timer.cancel()
        self._kill()
        for worker in self.workers:
            worker.wait()
            worker.stdout.close()
        self._errors.close()

    def _start(self, rank):
        environment = {**self._shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        return subprocess.Popen(self._command, env=environment, stdout=subprocess.PIPE,
                                stderr=self._errors, text=True)

    def next_report(self):
        """Returns worker 0's next report, or None when there is none any more."""
        line = self.workers[0].stdout.readline()
        if line:
            self.reports.append(json.loads(line)["paceline"])
        return self.reports[-1] if line else None

    def read_until(self, step):
        """Returns when worker 0 has reported `step`."""
        while True:
            report = self.next_report()
            if report is None:
                raise AssertionError(f"ended before step {step}: {self.errors()}")
            if report["step"] >= step:
                return

    def finish(self):
        """Reads to the end and returns the exit codes in rank order."""
        while self.next_report() is not None:
            pass
        return [worker.wait() for worker in self.workers]

    def errors(self):
        self._errors.seek(0)
        return self._errors.read()

    def losses(self):
        """Returns {step: training loss}."""
        return {report["step"]: report["train_loss"] for report in self.reports
                if "train_loss" in report}

    def checkpoints(self):
        """Returns the acknowledged ones, oldest first."""
        return [report for report in self.reports if "checkpoint" in report]

    def _kill(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
