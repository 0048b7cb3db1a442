#!/usr/bin/env python3
"""Learns a text's language: a recurrent network guesses each next character, data-parallel.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out text loss, bits_per_char and accuracy (share of characters guessed right).
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.launch import launch  # before torch: one thread, and the stop signal

import torch
from torch.nn import functional as F

from common.options import parse_options
from common.text import load_text
from common.training import Training
from common.worker import Worker
from text.model import WINDOW, LanguageModel


def main():
    options = parse_options(__doc__, "text file, or folder of them; without it "
                            "/usr/share/common-licenses", batch=64, epochs=12,
                            learning_rate=0.008, held_out=256)
    train_text, test_text, characters = load_text(options.data, WINDOW)
    worker = Worker(options.patience)

    torch.manual_seed(options.seed)
    net = LanguageModel(characters).to(worker.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)

    def guess(model, text, indices):
        """Returns scores, expected characters, and the sum over windows of the mean loss."""
        expected = text.expected(indices).to(worker.device)
        scores = model(text.read(indices).to(worker.device))
        return scores, expected, F.cross_entropy(scores, expected, reduction="sum") / WINDOW

    def evaluate(indices):
        scores, expected, loss = guess(net, test_text, indices)
        return {"loss": loss, "bits_per_char": loss / math.log(2),
                "accuracy": (scores.argmax(1) == expected).sum() / WINDOW}

    training = Training(worker, options, net, optimizer, evaluate, samples=len(train_text),
                        held_out=len(test_text), data_id=train_text.data_id())
    for batch in training:
        loss = guess(training.model, train_text, batch.indices)[2]
        optimizer.zero_grad()
        training.mean_over_workers(loss).backward()
        optimizer.step()
    return training.exit_code


if __name__ == "__main__":
    launch(main)
