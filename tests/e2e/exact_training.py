"""A training for tests, exact in the runtime's sense: after each step it has the same bits on any number of workers.

    python3 exact_training.py FOLDER EPOCHS

Says which samples it saw and, once it has done a step, the digest of its weights. Each step takes a moment until FOLDER/hurry exists.
"""

import hashlib
import os
import sys
import time

import paceline
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

BATCH, BATCHES = 24, 10  # of as many micro-batches as eight workers need to have one each

folder, epochs = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
job = paceline.init()
samples = BATCH * BATCHES
points = torch.rand(samples, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
train_set = TensorDataset(points, (points.square().sum(1) < 0.6).long(), torch.arange(samples))
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
job.distribute(model, optimizer)
job.checkpoint(os.path.join(folder, "checkpoints"), every=0.5)


def digest():
    return hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in model.state_dict().values())).hexdigest()[:16]


for epoch in job.epochs(epochs):
    for x, y, index in job.batches(train_set, global_batch_size=BATCH, seed=1, micro=3, exact=True):
        print("SAW", epoch, *index.tolist(), flush=True)
        before = job.steps
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.step(loss=loss)
        if job.steps > before:
            print("DIGEST", job.steps, digest(), flush=True)
            if not os.path.exists(os.path.join(folder, "hurry")):
                time.sleep(0.05)
job.finish()
