"""Trainings for test_runtime_gradients.py, each done as on one device and by all ranks. What is asked for is a JSON argument; each
rank tells what both came to as one line "result {...}"."""

import json
import sys

import paceline

ASKED = {"kind": "plain", "batches": {}, "buckets_of": None, "epochs": 3, "batch": 10, "rate": 0.05, **json.loads(sys.argv[1])}
KIND = ASKED["kind"]

job = paceline.init(timeout_s=60)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

if ASKED["buckets_of"]:
    from paceline import buckets

    buckets.BUCKET_BYTES = ASKED["buckets_of"]
SAMPLES = 40
torch.manual_seed(0)
TEACHER = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).requires_grad_(False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.extra, self.one, self.block, self.two = nn.Linear(4, 1), nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x, has_extra):
        hidden = torch.tanh(self.one(x))
        if KIND.startswith("reentrant"):
            for _ in range(3 if KIND == "reentrant shared" else 0):
                hidden = checkpoint(self.block, hidden, use_reentrant=True)
            return checkpoint(self.two, hidden, use_reentrant=True) if KIND == "reentrant whole" else self.two(hidden)
        if KIND == "frozen model":
            return self.two(hidden) + 0.1 * TEACHER(x)[:, :1]
        # On a rank without such samples the layer is unused.
        return self.two(hidden) + (self.extra(x) * has_extra[:, None] if has_extra.any() else 0)


class OneDevice:
    """What a plain loop does, by the names of a job's calls."""

    def __init__(self):
        self.steps = 0

    def distribute(self, *_):
        pass

    def epochs(self, count):
        return range(count)

    def batches(self, data, size):
        return (data[first:first + size] for first in range(0, SAMPLES, size))

    def weight(self, count):
        pass

    def step(self):
        self.steps += 1


class AllRanks:
    def __init__(self):
        self.distribute, self.epochs, self.weight, self.step = job.distribute, job.epochs, job.weight, job.step

    def batches(self, data, size):
        return job.batches(data, size, shuffle=False, **ASKED["batches"])

    @property
    def steps(self):
        return job.steps


def made():
    torch.manual_seed(1)
    nets = [Net() for _ in range(2 if "models" in ASKED else 1)]
    if KIND.startswith("unfrozen"):
        nets[0].one.requires_grad_(False)
    outside = [nn.Parameter(torch.ones(3))] if KIND == "outside" else []
    kind = torch.optim.LBFGS if KIND == "lbfgs" else torch.optim.SGD
    return nets, [kind([*net.parameters(), *outside], lr=ASKED["rate"]) for net in nets]


def trained(by):
    nets, optimizers = made()
    for each in zip(nets, optimizers):
        by.distribute(*each)
    if KIND == "frozen model":
        TEACHER[1].reset_running_stats()
        by.distribute(TEACHER)
    for epoch in by.epochs(ASKED["epochs"]):
        if KIND == "unfrozen before an epoch" and epoch == 1:
            nets[0].one.requires_grad_(True)
        for batch in by.batches(DATA, ASKED["batch"]):
            if KIND == "unfrozen in a batch" and by.steps == 2:
                nets[0].one.requires_grad_(True)
            train(by, batch, nets, optimizers)
            by.step()
            if KIND == "unfrozen after a step" and by.steps == 2:
                nets[0].one.requires_grad_(True)
    notes = [*TEACHER[1].buffers(), torch.tensor(TEACHER[1].momentum)] if KIND == "frozen model" else []
    return [value for each in [*(each for net in nets for each in net.parameters()), *notes] for value in each.flatten().tolist()]


def loss_of(net, batch, sign):
    x, y, has_extra = batch
    # Of the models one uses the layer for some samples only.
    return ((net(x, has_extra if sign < 0 else torch.ones(len(x))) - sign * y) ** 2).mean()


def train_by_closure(batch, net, optimizer, sign):
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(net, batch, sign)
        loss.backward()
        losses.append(loss)
        return loss

    assert optimizer.step(closure) is losses[0]


def train(by, batch, nets, optimizers):
    signs = (1, -1)
    if KIND in ("closure", "lbfgs"):
        for each in zip(nets, optimizers, signs):
            train_by_closure(batch, *each)
        return
    if ASKED.get("models") == "each":
        for net, optimizer, sign in zip(nets, optimizers, signs):
            optimizer.zero_grad()
            loss_of(net, batch, sign).backward()
            optimizer.step()
        return
    if KIND == "model.zero_grad":
        nets[0].zero_grad()
    if ASKED.get("models") == "backwards":
        for net, optimizer, sign in zip(nets, optimizers, signs):
            optimizer.zero_grad()
            loss_of(net, batch, sign).backward()
    else:
        if KIND == "tokens":
            by.weight(100 * len(batch[0]))
        # Ranks come to the models in another order.
        turn = -1 if job.rank % 2 else 1
        sum(loss_of(net, batch, sign) for net, sign in [*zip(nets, signs)][::turn]).backward()
    if KIND == "tokens":
        nn.utils.clip_grad_norm_(nets[0].parameters(), 0.1)
    for optimizer in optimizers:
        if KIND != "skips" or by.steps not in (0, 1, 4):  # as a scaler does where gradients overflow
            optimizer.step()
        if KIND != "model.zero_grad":
            optimizer.zero_grad()


x = torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(1))
has_extra = torch.tensor([float(index % 10 < 5) for index in range(SAMPLES)])
DATA = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True), has_extra)
alone = trained(OneDevice()) if not KIND.startswith("reentrant") else None
together = trained(AllRanks())
job.finish()
print("result", json.dumps({"alone": alone, "together": together, "steps": job.steps}), flush=True)
