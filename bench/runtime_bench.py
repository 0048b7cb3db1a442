"""What ranks of a training exchange: libpaceline beside PyTorch's own Gloo, in turns in the same processes, four of them on this
machine. Prints one JSON line per measurement; `times` is how many times as long the other takes."""

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
RANKS = 4
SIZES = {1_000: 400, 100_000: 100, 25_000_000: 7}  # floats: rounds
SMALL_TENSORS, SMALL = 1_000, 1_024  # of 4 KB


def report(name, value, unit):
    print(json.dumps({"name": f"runtime {name}", "value": round(value, 4), "unit": unit}), flush=True)


def in_turns(group, rounds, *runs):
    """The median seconds of each, by the slowest rank."""
    import torch

    seconds = [[] for _ in runs]
    for _ in range(rounds):
        for run, taken in zip(runs, seconds):
            group.barrier()
            begin = time.perf_counter()
            run()
            slowest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
            group.all_reduce(slowest, 3)
            taken.append(slowest.item())
    return [statistics.median(each) for each in seconds]


def work(rank, folder):
    import torch
    import torch.distributed as dist

    sys.path.insert(0, str(PACKAGE))
    from paceline.group import Group

    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    group = Group(rank, RANKS, b"known to this benchmark")
    endpoints = [None] * RANKS
    dist.all_gather_object(endpoints, group.endpoint)
    group.connect(endpoints)

    def tell(name, value, unit):
        if rank == 0:
            report(name, value, unit)

    for count, rounds in SIZES.items():
        data = torch.zeros(count)
        ours, gloo = in_turns(group, rounds, lambda: group.all_reduce(data), lambda: dist.all_reduce(data))
        tell(f"all_reduce {count} floats", ours * 1e3, "ms")
        tell(f"all_reduce {count} floats, Gloo of PyTorch", gloo / ours, "times")
    tensors = [torch.zeros(SMALL) for _ in range(SMALL_TENSORS)]
    fused, single = in_turns(group, 7, lambda: group.all_reduce_many(tensors),
                             lambda: [group.all_reduce(each) for each in tensors])
    tell("1000 tensors of 4 KB", fused * 1e3, "ms")
    tell("1000 tensors of 4 KB, one by one", single / fused, "times")
    dist.barrier()


def main():
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([PYTHON, __file__, str(rank), folder]) for rank in range(RANKS)]
        codes = [each.wait() for each in ranks]
    sys.exit(max(codes, key=abs))


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2]) if len(sys.argv) > 1 else main()
