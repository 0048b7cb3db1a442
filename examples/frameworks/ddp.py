"""A DistributedDataParallel script as PyTorch's tutorials have it. It knows nothing of Paceline."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FOLDER = Path("checkpoints/ddp")
EPOCHS, BATCH = 12, 32


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {size}", flush=True)

    torch.manual_seed(0)
    x = torch.rand(8000, 64) * 2 - 1
    data = TensorDataset(x, (x.square().mean(1, keepdim=True) > 1 / 3).float())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1)))
    optimizer = torch.optim.Adam(model.parameters())
    first = load(model, optimizer, rank)

    for epoch in range(first + 1, EPOCHS + 1):
        sampler.set_epoch(epoch)
        for batch, labels in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            save(model, optimizer, epoch)
            print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


def load(model, optimizer, rank):
    """The number of the epoch that was saved last; 0: none."""
    saved = sorted(FOLDER.glob("epoch-*.pt"))
    if not saved:
        return 0
    state = torch.load(saved[-1], map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if rank == 0:
        print(f"going on after epoch {state['epoch']}", flush=True)
    return state["epoch"]


def save(model, optimizer, epoch):
    FOLDER.mkdir(parents=True, exist_ok=True)
    unfinished = FOLDER / "unfinished.tmp"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, unfinished)
    os.replace(unfinished, FOLDER / f"epoch-{epoch:03d}.pt")


if __name__ == "__main__":
    main()
