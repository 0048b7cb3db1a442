"""How long a step stands still for a checkpoint that is written beside the training, in parts of the time that writing takes. One
process with the package trains, and writes 100 MB of parameters and optimizer state every second. Prints one JSON line per
measurement, each the median over checkpoints."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).parent / "runtime/python"
PYTHON = "/usr/bin/python3"
STATE_MB = 100  # parameters and the optimizer's momentum
CHECKPOINTS = 12  # after the first, which gets its memory
COMPUTE = 600  # rows and columns of a product, some milliseconds


def report(name, value, unit):
    print(json.dumps({"name": f"runtime {name}", "value": round(value, 4), "unit": unit}), flush=True)


def work(folder):
    sys.path.insert(0, str(PACKAGE))
    import paceline
    import torch

    measured, sys.stdout = sys.stdout, open(os.devnull, "w")  # no reports of the training
    torch.set_num_threads(1)
    job = paceline.init()
    weights = torch.nn.Parameter(torch.zeros(STATE_MB * (1 << 20) // 8))
    model = torch.nn.Module()
    model.weights = weights
    optimizer = torch.optim.SGD([weights], lr=0.01, momentum=0.9)
    job.distribute(model, optimizer)
    job.checkpoint(folder, every=1)
    some = torch.rand(COMPUTE, COMPUTE)
    steps, begins, writes = [], [], [0]  # seconds in job.step(); in those that began a checkpoint; until it was written
    for _ in job.epochs(1_000_000):
        for batch in job.batches(torch.zeros(1_000, 1), 10):
            optimizer.zero_grad()
            ((some @ some).mean() * weights[:1].sum() * batch.sum()).backward()
            optimizer.step()
            saved_at = job._saved_at
            begun = time.perf_counter()
            job.step()
            taken = time.perf_counter() - begun
            (steps if job._saved_at == saved_at else begins).append(taken)
            if job._folder.took_s != writes[-1]:
                writes.append(job._folder.took_s)
            if len(writes) > CHECKPOINTS + 1:
                sys.stdout = measured
                return tell(statistics.median(steps), begins[1:], writes[2:])


def tell(usual, begins, writes):
    report("a checkpoint of 100 MB, written in", statistics.median(writes), "s")
    report("a checkpoint of 100 MB, a step stands still", statistics.median(begins) - usual, "s")
    parts = [100 * (begin - usual) / write for begin, write in zip(begins, writes)]
    report("a checkpoint of 100 MB, a step stands still, of the time of writing", statistics.median(parts), "%")


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("PACELINE_BENCH_DIR", "/var/tmp")) as folder:
        subprocess.run([PYTHON, __file__, folder], check=True)


if __name__ == "__main__":
    work(sys.argv[1]) if len(sys.argv) > 1 else main()
