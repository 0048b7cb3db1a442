"""Two scripts as people write them for Horovod, of which the import alone was changed. They make their data themselves.

    horovod_script.py            trains, and prints the accuracy
    horovod_script.py --elastic  the same, and goes on from its last commit after a start with other ranks
"""

import argparse
import json
import os
import signal
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import paceline.horovod.torch as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--fp16-allreduce", action="store_true")
parser.add_argument("--use-adasum", action="store_true")
parser.add_argument("--gradient-predivide-factor", type=float, default=1.0)
parser.add_argument("--elastic", action="store_true")
parser.add_argument("--samples", type=int, default=480)
parser.add_argument("--check-only", action="store_true", help="commit at the end of an epoch alone")
parser.add_argument("--stop-after", type=int, help="batches, after which this script gives itself a notice")
parser.add_argument("--die-after", type=int, help="batches, after which the last rank is killed")
args = parser.parse_args()


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.drop = nn.Dropout2d(0.1)
        self.out = nn.Linear(4 * 3 * 3, 4)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.drop(self.conv(x)), 2))
        return F.log_softmax(self.out(x.flatten(1)), dim=1)


def make_digits(count, seed):
    """Images of 8 by 8 points with a bar in one of four places."""
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=chance)
    images = torch.rand(count, 1, 8, 8, generator=chance) * 0.5
    for image, label in zip(images, labels):
        image[0, 2 * label:2 * label + 2] += 1.0
    return TensorDataset(images, labels, torch.arange(count))


hvd.init()
torch.manual_seed(42)
torch.set_num_threads(1)
train_dataset, test_dataset = make_digits(args.samples, 1), make_digits(96, 2)

model = Digits()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * hvd.size(), momentum=0.5)
compression = hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), compression=compression,
                                     op=hvd.Adasum if args.use_adasum else hvd.Average,
                                     gradient_predivide_factor=args.gradient_predivide_factor)


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def test():
    model.eval()
    sampler = DistributedSampler(test_dataset, num_replicas=hvd.size(), rank=hvd.rank())
    loss = accuracy = 0.0
    with torch.no_grad():
        for data, target, _ in DataLoader(test_dataset, batch_size=16, sampler=sampler):
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item() / len(sampler)
            accuracy += (output.argmax(1) == target).float().sum().item() / len(sampler)
    loss, accuracy = metric_average(loss, "avg_loss"), metric_average(accuracy, "avg_accuracy")
    if hvd.rank() == 0:
        print("result", json.dumps({"loss": loss, "accuracy": accuracy}), flush=True)


def train_batch(data, target):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), target)
    loss.backward()
    optimizer.step()
    return loss


def classic():
    sampler = DistributedSampler(train_dataset, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(train_dataset, batch_size=args.batch_size, sampler=sampler)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for epoch in range(1, args.epochs + 1):
        sampler.set_epoch(epoch)
        for batch_idx, (data, target, _) in enumerate(loader):
            loss = train_batch(data, target)
            if batch_idx % 10 == 0 and hvd.rank() == 0:
                print(f"Epoch {epoch} [{batch_idx * len(data)}/{len(sampler)}] loss {loss.item():.4f}", flush=True)
        test()


def elastic():
    sampler = hvd.elastic.ElasticSampler(train_dataset, shuffle=True)
    loader = DataLoader(train_dataset, batch_size=args.batch_size, sampler=sampler, num_workers=1)
    state = hvd.elastic.TorchState(model=model, optimizer=optimizer, train_sampler=sampler, epoch=0, batch=0)

    def on_state_reset():
        for group in optimizer.param_groups:
            group["lr"] = args.lr * hvd.size()
        print("reset", hvd.size(), flush=True)

    state.register_reset_callbacks([on_state_reset])
    train(state, loader)


@hvd.elastic.run
def train(state, loader):
    print("from", json.dumps([state.epoch, state.batch, state.optimizer.param_groups[0]["lr"]]), flush=True)
    trained = 0
    while state.epoch < args.epochs:
        for batch_idx, (data, target, indices) in enumerate(loader):
            train_batch(data, target)
            state.train_sampler.record_batch(batch_idx, args.batch_size)
            state.batch += 1
            trained += 1
            print("seen", json.dumps([[state.epoch, index] for index in indices.tolist()]), flush=True)
            if trained == args.die_after and hvd.rank() == hvd.size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if trained == args.stop_after and hvd.rank() == hvd.size() - 1:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.2)  # until whoever minds signals has taken it
            if args.check_only:
                state.check_host_updates()
            else:
                state.commit()
        test()
        state.epoch += 1
        state.batch = 0
        state.train_sampler.set_epoch(state.epoch)
        state.commit()


if args.elastic:
    elastic()
else:
    classic()
