"""What the runtime's tests share: where the package and libpaceline are, and gangs."""

import os
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gang:
    """Processes of one script, as torchrun's environment describes them to each other. `folder`: they run there."""

    def __init__(self, script, size, *arguments, generation=1, folder=None, **environment):
        port = free_port()
        self.processes = []
        for rank in range(size):
            its = {**os.environ, "PYTHONPATH": str(PACKAGE), "RANK": str(rank), "LOCAL_RANK": str(rank),
                   "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": str(port), "PACELINE_GANG_SECRET": SECRET.decode(),
                   "PACELINE_GENERATION": str(generation), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                   **environment}
            self.processes.append(subprocess.Popen(
                [PYTHON, "-u", str(script), *map(str, arguments)], env=its, cwd=folder, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT))

    def ends(self, timeout=300):
        """[(exit code, output)] of each rank."""
        ended = []
        for each in self.processes:
            output, _ = each.communicate(timeout=timeout)
            ended.append((each.returncode, output))
        return ended

    def kill(self):
        for each in self.processes:
            each.kill()
            each.communicate()
