#!/usr/bin/env python3
"""Learns to read digits: a small convolutional network, on all devices of its job.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out digits loss and accuracy.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.start import start  # before torch

import paceline
import torch
from torch.nn import functional as F

from common.digits import load_digits
from common.options import parse_options
from common.order import evenly_spaced
from common.schedule import learning_rate_factor
from digits.model import network


def main():
    options = parse_options(__doc__, "folder with MNIST-style IDX files, plain or .gz; without it "
                            "digits are drawn with this machine's fonts",
                            batch=128, epochs=5, learning_rate=0.002, held_out=2000, evaluate_every=100)
    job = paceline.init(options.patience)
    train, test = load_digits(options.data, options.cache)
    train_set, test_set = train.tensors(), test.tensors(evenly_spaced(options.held_out, len(test)))

    torch.manual_seed(options.seed)
    net = network().to(job.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)
    steps = options.epochs * math.ceil(len(train_set) / options.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_factor(step, steps))
    job.distribute(net, optimizer, schedule)
    if options.checkpoint_dir:
        job.checkpoint(options.checkpoint_dir, every=options.checkpoint_every)

    def scored(batch):
        images, classes = (each.to(job.device) for each in batch)
        return net((images.unsqueeze(1) / 255 - 0.25) * 4), classes  # about mean 0, deviation 1

    def measure(batch):
        scores, classes = scored(batch)
        return {"loss": F.cross_entropy(scores, classes, reduction="sum"),
                "accuracy": (scores.argmax(1) == classes).sum()}, len(classes)

    for _ in job.epochs(options.epochs):
        for batch in job.batches(train_set, options.batch, seed=options.seed):
            loss = F.cross_entropy(*scored(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            job.step(loss=loss)
            if job.should_stop:
                break
            if job.steps % options.evaluate_every == 0:
                job.report(**job.evaluate(measure, test_set))
        if job.should_stop:
            break
    job.report(**job.evaluate(measure, test_set))
    job.finish()


if __name__ == "__main__":
    start(main)
