"""A small training for test_runtime_resume.py, which goes on in its loop until its gang is in the generation that a JSON argument says,
and a few steps more. It tells of resizes and of what it carries."""

import copy
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import paceline

ASKED = {"batch": 10, "shuffle": True, "scale": None, "late_rate": None, "folder": None, "notice_at": None,
         "generation": 1, "steps": 8, "names": ["tally", "words"], "spoil": False, "raises": False, "late": None,
         "fails": False, "short": False, "joins_with": 4, **json.loads(sys.argv[1])}

job = paceline.init(timeout_s=600)

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Tally:
    """Counts this training's samples with a tensor."""

    def __init__(self):
        self.count = torch.zeros(1)

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


torch.manual_seed(1)
width = ASKED["joins_with"] if "PACELINE_JOINS" in os.environ else 4
net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
job.distribute(net, optimizer, scheduler)
things = {"tally": Tally(), "words": Counter(), "new": 0}
carried = {name: job.carry(name, things[name]) for name in ASKED["names"]}
assert carried.get("tally") in (None, things["tally"])
if ASKED["late"] == "optimizer":
    job.carry("optimizer", optimizer)
resized_at = 0


def resized(old_size, new_size):
    global resized_at
    resized_at = job.steps
    if ASKED["raises"]:
        raise LookupError("of the script's own")
    told_of = {"sizes": [old_size, new_size], "rank": job.rank, "size": job.size, "local_rank": job.local_rank,
               "generation": job.generation, "device": str(job.device), "step": job.steps, "carried": told()}
    if "words" in carried:
        carried["words"].value["since"] += 1
        carried["tally"].count += 1000
        job.restore()
    print("resized", json.dumps({**told_of, "restored": told()}), flush=True)


def told():
    return {name: int(each.count) if name == "tally" else copy.copy(each.value) for name, each in carried.items()}


job.on_resize(resized)
if ASKED["folder"]:
    job.checkpoint(ASKED["folder"])
if ASKED["late"] == "carry":
    job.carry("late", 0)
if ASKED["late_rate"]:
    optimizer.param_groups[0]["lr"] = ASKED["late_rate"]
if ASKED["spoil"]:
    with torch.no_grad():
        net[2].weight.mul_(100)

x = torch.randn(100, 4, generator=torch.Generator().manual_seed(5))
data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
steps = 0


def is_over():
    return job.generation == ASKED["generation"] and job.steps >= resized_at + ASKED["steps"]


def begin_together():
    """Without the group, which a rank that is ahead could end before others have left an operation of the step before."""
    folder = Path(ASKED["folder"])
    (folder / f"begun-{job.rank}").touch()
    while len(list(folder.glob("begun-*"))) < job.size:
        time.sleep(0.001)


for epoch in job.epochs(10000):
    for x, y in job.batches(data, ASKED["batch"], shuffle=ASKED["shuffle"],
                            **({"batch": "scale", "rule": ASKED["scale"]} if ASKED["scale"] else {})):
        steps += 1
        if steps == ASKED["notice_at"] and job.rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            while not job._attendant.notice:
                time.sleep(0.001)
        if "words" in carried:
            carried["words"].value["a word"] += 1
            carried["tally"].count += 1
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        try:
            if ASKED["fails"] and steps == 5:
                begin_together()
                if job.rank == 1:
                    raise LookupError("of the script's own")
            loss.backward()
            optimizer.step()
        except paceline.GroupError:
            void = told()
            job.restore()
            print("void", json.dumps([void, told()]), flush=True)
            raise
        scheduler.step()
        job.step(loss=loss)
        if ASKED["fails"]:
            job.commit()
        job.evaluate(lambda batch: (1.0, 1), [0])  # as ever, in the step in which ranks agree to resize, too
        if is_over() or ASKED["short"]:
            break
    if is_over():
        break
job.finish()
print("result", json.dumps({"steps": job.steps, "carried": told(), "rate": optimizer.param_groups[0]["lr"]}), flush=True)
