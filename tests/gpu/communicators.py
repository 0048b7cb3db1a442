"""NCCL itself on the ranks of a gang, for check.py: communicators are formed, summed with, abandoned and formed again."""

import json
import os
import sys
import time

ASKED = {"own_host": False, "hang": False, **json.loads(sys.argv[1])}
if ASKED["own_host"]:
    os.environ.update(NCCL_HOSTID=f"host-{os.getpid()}", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket")

import torch  # noqa: E402
from paceline import carriers, nccl, streams  # noqa: E402
from paceline.alone import Alone  # noqa: E402
from paceline.ranks import Place  # noqa: E402

group = Place(os.environ).group(60.0)
device = torch.device("cuda", 0)
torch.cuda.set_device(device)
torch.zeros(1, device=device)
library = nccl.library()
result = {"version": library.version, "gpu": streams.gpu_name(device), "torch": None, "form_ms": [], "abort_ms": []}
if torch.cuda.nccl.is_available([torch.zeros(1, device=device)]):
    result["torch"] = torch.cuda.nccl.version()


def formed():
    begun = time.perf_counter()
    unique_id = group.broadcast_bytes(library.unique_id() if group.rank == 0 else b"")
    side = streams.side(device)
    carrier = carriers.NcclCarrier(group, nccl.Communicator(library, unique_id, group.rank, group.size, side.on_device), side)
    carrier.form(60.0)
    result["form_ms"].append((time.perf_counter() - begun) * 1000)
    return carrier


def sums_are_right(carrier, kind, count):
    """Whole numbers, so that each sum is exact in each type."""
    chance = torch.Generator().manual_seed(3)
    parts = [torch.randint(-8, 9, (count,), generator=chance).to(kind) for _ in range(group.size)]
    whole = sum(part.double() for part in parts)
    flat = carriers.Flat(parts[group.rank].to(device), min(3, count))
    tail = carrier.start(flat)
    carrier.settle(flat)
    return torch.equal(flat.tensor.cpu().double(), whole) and tail() == whole[-min(3, count):].tolist()


def ms_of_sums(carrier, count):
    flat = carriers.Flat(torch.ones(count, device=device), 1)
    times = []
    for _ in range(10):
        flat.tensor.fill_(1)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        carrier.start(flat)
        carrier.settle(flat)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begun) * 1000)
    return sorted(times)[len(times) // 2]


def abort(carrier):
    begun = time.perf_counter()
    carrier.close()
    result["abort_ms"].append((time.perf_counter() - begun) * 1000)


carrier = formed()
result["right"] = {f"{kind} {count}": sums_are_right(carrier, kind, count)
                   for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16)
                   for count in (1, 1023, 1 << 20)}
result["sum_ms"] = {count: ms_of_sums(carrier, count) for count in (1 << 10, 1 << 20, 1 << 22)}
abort(carrier)
for _ in range(2):
    carrier = formed()
    if not sums_are_right(carrier, torch.float32, 1000):
        result["right"]["again"] = False
    abort(carrier)

if ASKED["hang"]:  # a sum of which the other rank knows nothing is abandoned, and the GPU goes on
    carrier = formed()
    result["right"]["before"] = sums_are_right(carrier, torch.float32, 1 << 20)
    if group.rank == 0:
        flat = carriers.Flat(torch.ones(1 << 20, device=device), 1)
        carrier.start(flat)
        carrier._advance(1.0)
        time.sleep(0.3)
        result["hangs"] = flat.end is not None and not flat.end.query()
    group.barrier()
    abort(carrier)
    torch.cuda.synchronize()
    result["goes_on"] = float(torch.ones(10, device=device).sum()) == 10.0
    group.barrier()
if not isinstance(group, Alone):
    group.close()
print("result", json.dumps(result), flush=True)
