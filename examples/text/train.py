#!/usr/bin/env python3
"""Learns a text's language: a recurrent network guesses each next character, on all devices of its job.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out text loss, bits_per_char and accuracy (share of characters guessed right).
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.start import start  # before torch

import paceline
import torch
from torch.nn import functional as F

from common.options import parse_options
from common.order import evenly_spaced
from common.schedule import learning_rate_factor
from common.text import load_text
from text.model import WINDOW, LanguageModel


def main():
    options = parse_options(__doc__, "text file, or folder of them; without it "
                            "/usr/share/common-licenses", batch=64, epochs=12,
                            learning_rate=0.008, held_out=256, evaluate_every=25)
    job = paceline.init(options.patience)
    train, test, characters = load_text(options.data, WINDOW)
    train_set, test_set = train.tensors(), test.tensors(evenly_spaced(options.held_out, len(test)))

    torch.manual_seed(options.seed)
    net = LanguageModel(characters).to(job.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)
    steps = options.epochs * math.ceil(len(train_set) / options.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_factor(step, steps))
    job.distribute(net, optimizer, schedule)
    if options.checkpoint_dir:
        job.checkpoint(options.checkpoint_dir, every=options.checkpoint_every)

    def guessed(batch):
        windows = batch[0].long().to(job.device)
        return net(windows[:, :-1]), windows[:, 1:]

    def measure(batch):
        scores, expected = guessed(batch)
        loss = F.cross_entropy(scores, expected, reduction="sum")
        return {"loss": loss, "bits_per_char": loss / math.log(2),
                "accuracy": (scores.argmax(1) == expected).sum()}, expected.numel()

    for _ in job.epochs(options.epochs):
        for batch in job.batches(train_set, options.batch, seed=options.seed):
            loss = F.cross_entropy(*guessed(batch))
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
