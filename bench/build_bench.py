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


def clone(folder):
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "paceline"], check=True)
    return folder / "paceline"


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


def main():
    folder = Path(tempfile.mkdtemp(prefix="paceline-build-"))
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_BINARY"} | {"CCACHE_DISABLE": "1"}
    try:
        report("build first_table", until_first_table(clone(folder), environment), "s")
        shutil.rmtree(folder / "paceline")
        begun = time.perf_counter()
        subprocess.run(["script/test", "--no-install"], cwd=clone(folder), env=environment, check=True, stdout=subprocess.DEVNULL)
        report("build script_test", time.perf_counter() - begun, "s")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
