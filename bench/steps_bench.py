"""A step of the digits example with the package beside one with DistributedDataParallel, in turns in the same processes, two and
four of them on this machine. Prints one JSON line per measurement: ours in parts of theirs, the geometric mean over pairs, and the
ends of its 95 % interval."""

import json
import math
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).parent / "runtime/python"
PYTHON = "/usr/bin/python3"
GANGS = (2, 4)
PAIRS, STEPS, BATCH, SAMPLES = 24, 20, 128, 20_000
IN_95_PERCENT = 1.96  # deviations of the mean


def work():
    import time

    sys.path[:0] = [str(PACKAGE), str(ROOT / "examples")]
    import paceline
    import torch
    import torch.distributed as dist
    from digits.model import network
    from torch.nn import functional as F
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import TensorDataset

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    measured, sys.stdout = sys.stdout, open(os.devnull, "w")  # no reports of the training
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    os.environ["MASTER_PORT"] = os.environ["PORT_OF_OURS"]
    job = paceline.init()
    data = TensorDataset(torch.randint(0, 256, (SAMPLES, 28, 28), dtype=torch.uint8), torch.randint(0, 10, (SAMPLES,)))

    def loss_of(net, batch):
        images, classes = batch
        return F.cross_entropy(net((images.unsqueeze(1) / 255 - 0.25) * 4), classes)

    def theirs():
        net = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.002)
        while True:
            for share in torch.randperm(SAMPLES)[rank::size].split(BATCH // size):
                loss = loss_of(net, data[share])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                yield

    def ours():
        net = network()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.002)
        job.distribute(net, optimizer)
        for _ in job.epochs(1_000):
            for batch in job.batches(data, BATCH):
                loss = loss_of(net, batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                job.step(loss=loss)
                yield

    def seconds(steps):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(STEPS):
            next(steps)
        slowest = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return slowest.item()

    loops = [ours(), theirs()]
    for each in loops:
        seconds(each)
    logs = []
    for pair in range(PAIRS):
        taken = {}
        for which in (0, 1) if pair % 2 else (1, 0):
            taken[which] = seconds(loops[which])
        logs.append(math.log(taken[0] / taken[1]))
    dist.barrier()
    if rank == 0:
        mean = statistics.mean(logs)
        half = IN_95_PERCENT * statistics.stdev(logs) / math.sqrt(PAIRS)
        for name, value in (("", mean), (", at least", mean - half), (", at most", mean + half)):
            print(json.dumps({"name": f"runtime step beside DDP, {size} workers{name}", "value": round(math.exp(value), 3),
                              "unit": "times"}), file=measured, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def main():
    codes = []
    for size in GANGS:
        shared = {**os.environ, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(),
                  "PORT_OF_OURS": free_port(), "OMP_NUM_THREADS": "1"}
        ranks = [subprocess.Popen([PYTHON, __file__, "worker"], env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                  stdout=None if rank == 0 else subprocess.DEVNULL) for rank in range(size)]
        codes += [each.wait() for each in ranks]
    sys.exit(max(codes, key=abs))


if __name__ == "__main__":
    work() if len(sys.argv) > 1 else main()
