"""What the runtime's tests share: where the package and libpaceline are, and gangs."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import warm

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).parent / "runtime/python"
PYTHON = sys.executable
STUB_NCCL = PACKAGE.parent / "tests/libstub_nccl.so"
SECRET = b"a secret of thirty-two bytes ..."

sys.path.insert(0, str(PACKAGE))

has_library = unittest.skipUnless((PACKAGE / "libpaceline.so.0").exists(), "libpaceline is not built")
HAS_TORCH = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
has_torch = unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")


def variants(*each):
    """All of these with script/test --all, else the first stands for the others."""
    return each if os.environ.get("PACELINE_TEST_ALL") else each[:1]


def on_threads(size, run):
    """Runs `run(rank)` for each rank at once; returns what they returned, or the exceptions."""
    results = [None] * size

    def work(rank):
        try:
            results[rank] = run(rank)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return results


class Started:
    """A process and what it has said."""

    def __init__(self, command, environment, folder=None):
        self._output = tempfile.TemporaryFile()
        if warm.WANTED:
            self.process = warm.start(command, environment, folder, self._output)
        else:
            self.process = subprocess.Popen(command, env=environment, cwd=folder, stdout=self._output, stderr=subprocess.STDOUT)
        self.pid = self.process.pid

    def output(self):
        # The process shares the file's position: moved, it would write over its own lines.
        file = self._output.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._output.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gang:
    """Processes of one script, as torchrun's environment describes them to each other. `folder`: they run there."""

    def __init__(self, script, size, *arguments, generation=1, folder=None, **environment):
        port = free_port()
        self._ranks = []
        for rank in range(size):
            its = {**os.environ, "PYTHONPATH": str(PACKAGE), "RANK": str(rank), "LOCAL_RANK": str(rank),
                   "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": str(port), "PACELINE_GANG_SECRET": SECRET.decode(),
                   "PACELINE_GENERATION": str(generation), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                   **environment}
            self._ranks.append(Started([PYTHON, "-u", str(script), *map(str, arguments)], its, folder))

    def ends(self, timeout=300):
        """[(exit code, output)] of each rank."""
        ended = []
        for each in self._ranks:
            ended.append((each.process.wait(timeout), each.output()))
            each.close()
        return ended

    def kill(self):
        for each in self._ranks:
            each.close()
