"""The small training in C++ that the tests of LibTorch run."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline"))
CONFIG = BINARY.resolve().parent / "runtime/cmake"  # what find_package(Paceline) reads
BUILT = ROOT / "build/frameworks/libtorch"
TRAINING = BUILT / "training"
BUILD_SECONDS = 1800
SAMPLES = 604  # of training.cpp, whose last global batch has one for each of 4 workers
CLOSE = 2e-3  # what rounding comes to in so many steps


def has_libtorch():
    return any(Path("/usr/lib").glob("*/cmake/Torch/TorchConfig.cmake"))


def build():
    launcher = ["-D", "CMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    configure = ["cmake", "-G", "Ninja", "-S", ROOT / "tests/frameworks/libtorch", "-B", BUILT, "-D", f"Paceline_DIR={CONFIG}", *launcher]
    for command in (configure, ["cmake", "--build", BUILT]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=BUILD_SECONDS)
        if done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
