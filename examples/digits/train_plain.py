#!/usr/bin/env python3
"""Learns to read digits: a small convolutional network, trained data-parallel.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out digits loss and accuracy.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.launch import launch  # before torch: one thread, and the stop signal

import torch
from torch.nn import functional as F

from common.digits import load_digits
from common.options import parse_options
from common.training import Training
from common.worker import Worker
from digits.model import network


def main():
    options = parse_options(__doc__, "folder with MNIST-style IDX files, plain or .gz; without it "
                            "digits are drawn with this machine's fonts",
                            batch=128, epochs=5, learning_rate=0.002, held_out=2000)
    train_set, test_set = load_digits(options.data, options.cache)
    worker = Worker(options.patience)

    torch.manual_seed(options.seed)
    net = network().to(worker.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)

    def batch_of(digits, indices):
        images = (digits.pixels(indices) - 0.25) * 4  # about mean 0, deviation 1
        return images.to(worker.device), digits.classes(indices).to(worker.device)

    def evaluate(indices):
        images, classes = batch_of(test_set, indices)
        scores = net(images)
        return {"loss": F.cross_entropy(scores, classes, reduction="sum"),
                "accuracy": (scores.argmax(1) == classes).sum()}

    training = Training(worker, options, net, optimizer, evaluate, samples=len(train_set),
                        held_out=len(test_set), data_id=train_set.data_id())
    for batch in training:
        images, classes = batch_of(train_set, batch.indices)
        loss = F.cross_entropy(training.model(images), classes, reduction="sum")
        optimizer.zero_grad()
        training.mean_over_workers(loss).backward()
        optimizer.step()
    return training.exit_code


if __name__ == "__main__":
    launch(main)
