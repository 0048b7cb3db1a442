"""How long a newcomer waits: from a fresh clone to the demo's first table, and the whole of script/test, both with an empty compiler
cache. What they download has to be there: run script/bootstrap before. Takes half an hour, so script/bench measures it only where its
filter begins with "build"."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from serve_bench import ROOT, report

FIRST_ROW = "PENDING", "STARTING", "RUNNING"


def fresh_clone(folder, name):
    """A clone of the last commit, and the environment that gives it an empty compiler cache."""
    checkout = folder / name
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_BINARY"}
    return checkout, environment | {"CCACHE_DIR": str(folder / f"{name}-cache")}


def until_first_table(checkout, environment):
    """Seconds until the demo's first table shows a job."""
    begun = time.perf_counter()
    demo = subprocess.Popen([checkout / "script/demo"], cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    seconds = None
    for line in demo.stdout:
        if seconds is None and any(state in line for state in FIRST_ROW):
            seconds = time.perf_counter() - begun
    if demo.wait() != 0 or seconds is None:
        raise RuntimeError(f"script/demo ended with {demo.returncode}")
    return seconds


def whole_test(checkout, environment):
    """Seconds that script/test takes."""
    begun = time.perf_counter()
    test = subprocess.run(["script/test", "--no-install"], cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if test.returncode != 0:
        raise RuntimeError(f"script/test ended with {test.returncode}:\n{test.stdout}")
    return time.perf_counter() - begun


def main():
    folder = Path(tempfile.mkdtemp(prefix="paceline-build-"))
    try:
        report("build first_table", until_first_table(*fresh_clone(folder, "demo")), "s")
        report("build script_test", whole_test(*fresh_clone(folder, "test")), "s")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
