"""A PyTorch script for one process that keeps checkpoints of its own. It knows nothing of Paceline."""

import os
from pathlib import Path

import torch
from torch import nn

FOLDER = Path("checkpoints/plain")
EPOCHS, BATCH = 100, 64

torch.manual_seed(0)
x = torch.rand(16000, 64) * 2 - 1
y = (x.square().mean(1, keepdim=True) > 1 / 3).float()
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.Adam(model.parameters())
first = 0

FOLDER.mkdir(parents=True, exist_ok=True)
if saved := sorted(FOLDER.glob("epoch-*.pt")):
    state = torch.load(saved[-1])
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["epoch"]
    print(f"going on after epoch {first}", flush=True)

for epoch in range(first + 1, EPOCHS + 1):
    for batch in torch.randperm(len(x)).split(BATCH):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    unfinished = FOLDER / "unfinished.tmp"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, unfinished)
    os.replace(unfinished, FOLDER / f"epoch-{epoch:03d}.pt")
    print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
