"""A small training for test_runtime_training.py. What it does is said in a JSON argument; what came out goes, from rank 0,
as one line "result {...}" to standard output."""

import itertools
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import paceline

ASKED = {"epochs": 2, "batch": 30, "samples": 100, "max_local": None, "order": "zero first", "clip": None, "folder": None,
         "every": 60.0, "notice_at": None, "die_at": None, "different_model": False, "scheduler": True, "unused": False,
         "twice": False, "skip_step": False, "different_rate": False, "wrapped": False, "loader_workers": None,
         "slow": 0.0, "slow_until": "/", "weights": False, "tensors": False, "micro": None, "exact": False, "chance": False,
         "scale": None, "rate": 0.1, "width": 8, "adam": False, "fails": False, "forgets": None,
         "different_data": False, "fails_on": None, "gpus": False, "buckets_of": None, "formed_within": None,
         "abort_within": None, "frozen": False, "waits_in_step": None, "scaler": False, "publish": None,
         "holds": None, "dies_evaluating": None, "evaluates": False, "leaves": None, "memory": None, "stream": None,
         "parts": False, "before": None, "freezes": {}, **json.loads(sys.argv[1])}

if ASKED["gpus"]:  # of the tests' own
    import stub_streams

    stub_streams.install()
job = paceline.init(timeout_s=ASKED.get("timeout_s", 60))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


if ASKED["buckets_of"]:
    from paceline import buckets

    buckets.BUCKET_BYTES = ASKED["buckets_of"]
if ASKED["formed_within"]:
    from paceline import ways

    ways.FORM_WITHIN_S = ASKED["formed_within"]
if ASKED["abort_within"]:
    from paceline import nccl

    nccl.ABORT_WITHIN_S = ASKED["abort_within"]

if ASKED["fails_on"]:  # [N, R, D]: the Nth operation of the training fails on rank R alone; rank D dies after it
    from paceline.group import Group

    number, unlucky, dying = ASKED["fails_on"]
    calls, call = itertools.count(1), Group._call

    def call_or_fail(group, name, *arguments):
        call(group, name, *arguments)
        if group.generation > 1 or not job._attendant.training or next(calls) != number:
            return
        print("operation", name, flush=True)
        if job.rank == dying:
            os.kill(os.getpid(), signal.SIGKILL)
        if job.rank == unlucky:
            raise paceline.GroupError(f"Rank {dying} is gone.", "lost", dying)

    Group._call = call_or_fail


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.two = nn.Linear(6, width), nn.Linear(width, 2)
        self.norm = nn.BatchNorm1d(width) if ASKED["chance"] else nn.Identity()
        self.drop = nn.Dropout(0.3 if ASKED["chance"] else 0.0)
        self.never = nn.Linear(3, 3)  # no gradient ever comes here
        self.seldom = nn.Linear(6, 2)  # only on rank 0, if "unused"

    def forward(self, x):
        y = self.two(self.drop(torch.tanh(self.norm(self.one(x)))))
        return y + self.seldom(x) if ASKED["unused"] and job.rank == 0 else y


class Scaler:
    """AMP's GradScaler, which does nothing on CPUs, in short: as particular about the order of its calls."""

    def __init__(self):
        self.factor, self.updates, self.stage = 4.0, 0, "ready"

    def get_scale(self):
        return self.factor

    def unscale_(self, optimizer):
        gradients = [each.grad for group in optimizer.param_groups for each in group["params"] if each.grad is not None]
        assert gradients and self.stage == "ready", self.stage
        for each in gradients:
            each.div_(self.factor)
        self.stage = "unscaled"

    def step(self, optimizer):
        assert self.stage != "stepped"
        if self.stage == "ready":
            self.unscale_(optimizer)
        optimizer.step()
        self.stage = "stepped"

    def update(self):
        assert self.stage == "stepped", self.stage
        self.stage, self.updates = "ready", self.updates + 1
        self.factor = 2.0 if self.factor == 4.0 else 4.0

    def state_dict(self):
        return {"factor": self.factor, "updates": self.updates}

    def load_state_dict(self, state):
        self.factor, self.updates = state["factor"], state["updates"]


class Samples(torch.utils.data.Dataset):
    def __init__(self, count):
        chance = torch.Generator().manual_seed(5)
        self.x = torch.randn(count, 6, generator=chance)
        self.y = (self.x.sum(1) > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        x = self.x[index] + 0.1 * torch.randn(6) if ASKED["chance"] else self.x[index]
        return index, x, self.y[index]


class Stream(torch.utils.data.IterableDataset):
    """The samples of `shards`, lists of indices, one after the other."""

    def __init__(self, samples, shards):
        self.samples, self.shards, self.begin = samples, shards, 0
        if ASKED["stream"].get("declared", True):
            self.num_shards = len(shards)
        if ASKED["stream"].get("state", True):
            self.state_dict, self.load_state_dict = self._state, self._load

    def shard(self, num_shards, index):
        assert num_shards == len(self.shards)
        return Stream(self.samples, [self.shards[index]])

    def __iter__(self):
        begin, self.begin = self.begin, 0
        for self.at, index in enumerate([each for shard in self.shards for each in shard][begin:], begin + 1):
            print("read", index, flush=True)
            yield self.samples[index]

    def _state(self):
        return {"at": self.at}

    def _load(self, found):
        self.begin = found["at"]


torch.manual_seed(job.rank)  # rank 0's parameters are what counts
net = Net(ASKED["width"] + 1 if ASKED["different_model"] and job.rank == 1 else ASKED["width"])
if ASKED["frozen"]:
    for each in (*net.never.parameters(), *net.seldom.parameters()):
        each.requires_grad_(False)
if "melt" in ASKED["freezes"]:  # {"freeze" or "melt": after which step}
    net.two.requires_grad_(False)
rate = 0.5 if ASKED["different_rate"] and job.rank == 1 else ASKED["rate"]
optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, weight_decay=0.01)
if ASKED["adam"]:
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
scheduler = None if ASKED["forgets"] == "a later scheduler" else torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
train, test = Samples(ASKED["samples"] - (job.rank if ASKED["different_data"] else 0)), Samples(37)
if ASKED["wrapped"]:
    job.distribute(nn.DataParallel(net))
carried = (optimizer,) if ASKED["forgets"] else (optimizer, scheduler)
scaler = Scaler()
if ASKED["scaler"]:
    carried = (*carried, scaler)
assert job.distribute(net, *carried) == (net, *carried)
scheduler = scheduler or torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
if ASKED["memory"] and job.rank == ASKED["memory"][0]:  # [rank, MB that it may still get]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (ASKED["memory"][1] << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
if ASKED["folder"]:
    job.checkpoint(ASKED["folder"], every=ASKED["every"])
if ASKED["memory"]:  # OpenBLAS asks for more for ever
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
data = train
if ASKED["loader_workers"] is not None:
    data = torch.utils.data.DataLoader(train, num_workers=ASKED["loader_workers"])

if ASKED["tensors"]:
    data = torch.utils.data.TensorDataset(torch.arange(len(train)), train.x, train.y)

if ASKED["stream"]:
    numbers = iter(range(len(train)))
    data = Stream(train, [[next(numbers) for _ in range(count)] for count in ASKED["stream"]["shards"]])
    if ASKED["loader_workers"] is not None:
        data = torch.utils.data.DataLoader(data, num_workers=ASKED["loader_workers"])

seen, steps, accuracies, slow_enough = [], 0, [], False


def count_correct(batch):
    _, x, y = batch
    while ASKED["holds"] and job.steps == 4 and not os.path.exists(ASKED["holds"]):
        time.sleep(0.01)
    return (net(x).argmax(1) == y).sum(), len(y)


def measure(batch):
    if job.steps == 5 and job.generation == 1 and job.rank == ASKED["dies_evaluating"]:
        os.kill(os.getpid(), signal.SIGKILL)
    correct, count = count_correct(batch)
    return {"accuracy": correct, "one": count}, count


net.never.eval()  # as what is fine-tuned has parts that don't train
modes = [each.training for each in net.modules()]


def evaluate():
    accuracies.append(job.evaluate(count_correct, test, batch_size=10))
    measured = job.evaluate(measure, test, batch_size=7)
    assert measured["one"] == 1.0 and (ASKED["chance"] or measured["accuracy"] == accuracies[-1]), measured
    assert job.evaluate(lambda _: ({"one": 1}, 1), [0]) == {"one": 1.0}
    job.report(accuracy=accuracies[-1])
    assert [each.training for each in net.modules()] == modes


if ASKED["before"]:  # the loop
    print("before", job.evaluate(count_correct, test), job.publish(net, ASKED["before"]), flush=True)


if ASKED["waits_in_step"]:  # as for a number that lies on the GPU
    net.one.weight.register_hook(lambda _: stub_streams.synchronize() if steps == ASKED["waits_in_step"] else None)
for epoch in job.epochs(ASKED["epochs"]):
    for indices, x, y in job.batches(data, ASKED["batch"], max_local=ASKED["max_local"], seed=3,
                                      micro=ASKED["micro"], exact=ASKED["exact"],
                                      **({"batch": "scale", "rule": ASKED["scale"]} if ASKED["scale"] else {})):
        if ASKED["order"] == "zero first":
            optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        if ASKED["weights"]:
            counts = (indices % 3).float()
            of = counts.sum() if ASKED["weights"] == "unclamped" else counts.sum().clamp(min=1)
            loss = (F.cross_entropy(net(x), y, reduction="none") * counts).sum() / of
            if ASKED["weights"] != "on rank 0" or job.rank == 0:
                job.weight(counts.sum())
        (loss * scaler.factor if ASKED["scaler"] else loss).backward()
        if ASKED["twice"]:
            F.cross_entropy(net(x), y).backward()
        if ASKED["scaler"] and ASKED["clip"]:
            scaler.unscale_(optimizer)
        if ASKED["clip"]:
            torch.nn.utils.clip_grad_norm_(net.parameters(), ASKED["clip"])
        if ASKED["scaler"]:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        if ASKED["order"] == "zero last":
            optimizer.zero_grad()
        if ASKED["scheduler"]:
            scheduler.step()
        if job._part:
            seen += [[epoch, index] for index in indices.tolist()]
        steps += 1
        if steps == 3 and job.rank == job.size - 1:
            if ASKED["fails"]:
                raise LookupError("of the script's own")
            if ASKED["skip_step"] == "on the last rank":
                continue
        print("seen", json.dumps([[epoch, index] for index in indices.tolist()] if job._part else []), flush=True)
        if steps == ASKED["die_at"] and job.rank == job.size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if steps == ASKED["notice_at"] and job.rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)
        if not slow_enough:
            time.sleep(ASKED["slow"])
            slow_enough = ASKED["slow_until"] != "/" and os.path.exists(ASKED["slow_until"])
        if ASKED["skip_step"] is not True:
            before = job.steps
            job.step(loss=loss)
            print("steps", before, job.steps, flush=True)
        for change, step in ASKED["freezes"].items():
            if job.steps == step:
                net.two.requires_grad_(change == "melt")
        if ASKED["evaluates"]:
            evaluate()
        if job.steps == ASKED["leaves"]:
            break

    # A backward() outside of batches is nobody's mean.
    aside = torch.ones(1, requires_grad=True)
    net.one.weight.grad = None
    (net.one.weight.sum() * 3 * aside).backward()
    assert (net.one.weight.grad == 3).all(), net.one.weight.grad
    net.one.weight.grad = None

    evaluate()
    if ASKED["publish"]:
        print("published", job.publish(net, ASKED["publish"]))
    if job.steps == ASKED["leaves"] or ASKED["parts"] and job.rank == job.size - 1:
        break
job.finish()
bits = [value.tolist() for value in net.state_dict().values()]
weights = [round(value, 9) for each in net.parameters() for value in each.detach().double().flatten().tolist()]
print("result", json.dumps({"weights": weights, "accuracies": accuracies, "bits": bits, "rate": optimizer.param_groups[0]["lr"],
                            "never": net.never.weight.grad is None, "updates": [scaler.updates, job.steps]}), flush=True)
