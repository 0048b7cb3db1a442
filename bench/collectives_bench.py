"""The all-reduce of libpaceline beside those of Gloo and of Open MPI: four ranks on this machine, without Python in between. Prints
one JSON line per measurement; `times` is how many times as long the other takes. Needs Debian's libgloo-dev, openmpi-bin and
libopenmpi-dev; without them it measures nothing, and says so."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).parent / "runtime/python"
SOURCE = ROOT / "bench/rivals/all_reduce.cpp"
RANKS = 4


def main():
    if not shutil.which("mpicxx") or not Path("/usr/include/gloo/allreduce.h").exists():
        print("collectives: not measured without libgloo-dev, openmpi-bin and libopenmpi-dev", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/all_reduce"
        subprocess.run(["mpicxx", "-std=c++20", "-O2", SOURCE, "-I", ROOT / "runtime/cpp/include", "-L", LIBRARY, "-lpaceline",
                        f"-Wl,-rpath,{LIBRARY}", "-lgloo", "-o", program], check=True)
        (Path(folder) / "meet").mkdir()
        # Of a group on one machine: shared memory. Ranks are more than the cores may be, so those that wait give way.
        subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(RANKS), "--mca", "btl", "self,vader",
                        program, f"{folder}/meet"], check=True)


if __name__ == "__main__":
    main()
