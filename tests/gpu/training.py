"""A training on a GPU for check.py, which says in a JSON argument what is wanted. Tells of each step, and in the end what came out."""

import json
import os
import signal
import sys
import time

import paceline

ASKED = {"steps": 20, "batch": 64, "samples": 640, "max_local": None, "width": 64, "layers": 2, "dropout": 0.0, "norm": False,
         "amp": None, "clip": None, "adam": False, "folder": None, "every": 1e9, "notice_at": None, "gradients": None,
         "weights": None, "slow": 0.0, "slow_until": "/", "own_host": False, "measure": False, "plain": None, "evaluate": False,
         "micro": None, "exact": False, "buckets_of": None, **json.loads(sys.argv[1])}

if ASKED["own_host"]:  # NCCL wants one GPU for each rank of a host: each is a host of its own
    os.environ.update(NCCL_HOSTID=f"host-{os.getpid()}", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

if ASKED["buckets_of"]:
    from paceline import buckets

    buckets.GPU_BUCKET_BYTES = ASKED["buckets_of"]


def build(device):
    torch.manual_seed(7)
    width, parts = ASKED["width"], [nn.Linear(32, ASKED["width"])]
    for _ in range(ASKED["layers"]):
        parts += [nn.ReLU(), nn.Dropout(ASKED["dropout"]), nn.Linear(width, width)]
    if ASKED["norm"]:
        parts.append(nn.BatchNorm1d(width))
    net = nn.Sequential(*parts, nn.ReLU(), nn.Linear(width, 8)).to(device)
    make = torch.optim.Adam if ASKED["adam"] else torch.optim.SGD
    return net, make(net.parameters(), lr=0.001 if ASKED["adam"] else 0.05)


def scaler_of(amp):
    if amp != "float16":
        return None
    # PyTorch 1.13 has it elsewhere.
    return torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()


def samples(count):
    chance = torch.Generator().manual_seed(5)
    x = torch.randn(count, 32, generator=chance)
    return torch.utils.data.TensorDataset(x, (x[:, :8] + 0.1 * x[:, 8:16]).argmax(1))


def train_step(net, optimizer, scaler, x, y):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", getattr(torch, ASKED["amp"] or "bfloat16"), enabled=bool(ASKED["amp"])):
        loss = F.cross_entropy(net(x), y)
    (scaler.scale(loss) if scaler else loss).backward()
    if ASKED["clip"]:
        if scaler:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), ASKED["clip"])
    if scaler:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    return loss


def measured(device, steps):
    """Milliseconds of each of the latter half of the steps, of which `steps` is a generator."""
    times, before = [], None
    for _ in steps:
        torch.cuda.synchronize(device)
        now = time.perf_counter()
        if before is not None:
            times.append((now - before) * 1000)
        before = now
    times = sorted(times[len(times) // 2:])
    return {"ms": times[len(times) // 2], "mean": sum(times) / len(times), "least": times[0], "most": times[-1]}


def train_plainly(how):
    """PyTorch's own way: "alone", or DistributedDataParallel by "gloo" or "nccl"."""
    device, size = torch.device("cuda", 0), int(os.environ.get("WORLD_SIZE", "1"))
    torch.cuda.set_device(device)
    net, optimizer = build(device)
    if how != "alone":
        torch.distributed.init_process_group(how)
        net = nn.parallel.DistributedDataParallel(net, device_ids=[0])
    x, y = samples(ASKED["batch"] // size).tensors

    def steps():
        for _ in range(ASKED["steps"]):
            train_step(net, optimizer, None, x.to(device), y.to(device))
            yield

    print("result", json.dumps(measured(device, steps())), flush=True)
    sys.stdout.flush()
    os._exit(0)


if ASKED["plain"]:
    train_plainly(ASKED["plain"])

begun = time.perf_counter()
job = paceline.init(timeout_s=60)
if job.device.type != "cuda":
    sys.exit("there is no GPU")
torch.cuda.set_device(job.device)
net, optimizer = build(job.device)
scaler = scaler_of(ASKED["amp"])
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
torch.cuda.synchronize()
before = time.perf_counter()
job.distribute(net, optimizer, scheduler, *([scaler] if scaler else []))
shared_s = time.perf_counter() - before
if ASKED["folder"]:
    job.checkpoint(ASKED["folder"], every=ASKED["every"])
data, test = samples(ASKED["samples"]), samples(100)
losses, accuracies, fast = [], [], False


def count_correct(batch):
    x, y = (each.to(job.device) for each in batch)
    return (net(x).argmax(1) == y).sum(), len(y)


def train():
    global fast
    for _ in job.epochs(10 ** 6):
        for x, y in job.batches(data, ASKED["batch"], max_local=ASKED["max_local"], seed=3, micro=ASKED["micro"],
                                exact=ASKED["exact"]):
            steps = job.steps
            loss = train_step(net, optimizer, scaler, x.to(job.device), y.to(job.device))
            if ASKED["gradients"] and job.rank == 0 and job.steps == 0 and job._pieces.last:
                torch.save([each.grad.cpu() for each in net.parameters()], ASKED["gradients"])
            scheduler.step()
            if job.steps + 1 == ASKED["notice_at"] and job.rank == 0:
                os.kill(os.getpid(), signal.SIGTERM)
                while not job._attendant.notice:
                    time.sleep(0.001)
            if not fast and ASKED["slow"]:
                time.sleep(ASKED["slow"])
                fast = os.path.exists(ASKED["slow_until"])
            if ASKED["measure"]:
                job.step()
                yield
            else:
                print("loss", job.rank, steps + 1, float(loss).hex(), flush=True)
                job.step(loss=loss)
                print("steps", steps, job.steps, time.time(), flush=True)
            if job.steps >= ASKED["steps"]:
                return
        if ASKED["evaluate"]:
            accuracies.append(job.evaluate(count_correct, test, batch_size=10))


if ASKED["measure"]:
    result = measured(job.device, train())
else:
    for _ in train():
        pass
    result = {}
job.finish()
if ASKED["weights"] and job.rank == 0:
    torch.save([each.detach().cpu() for each in net.parameters()], ASKED["weights"])
total = sum(float(each.detach().double().sum()) for each in net.state_dict().values())
result.update(sum=total, accuracies=accuracies, shared_s=shared_s, scale=scaler.get_scale() if scaler else None,
              took_s=job._folder.took_s if job._folder else None,
              millions=sum(each.numel() for each in net.parameters()) / 1e6)
print("result", json.dumps(result), flush=True)
