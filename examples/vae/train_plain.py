#!/usr/bin/env python3
"""Learns to draw digits: a variational autoencoder, trained data-parallel.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out digits loss (negative evidence lower bound per image, in nats) and psnr (of the image
drawn again, in dB). Source: Kingma and Welling, Auto-Encoding Variational Bayes, arXiv:1312.6114.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.launch import launch  # before torch: one thread, and the stop signal

import numpy as np
import torch

from common.digits import load_digits
from common.options import parse_options
from common.training import Training
from common.worker import Worker
from vae.model import LATENT, Autoencoder, negative_elbo


def seeded_noise(count, seed, position):
    """Returns float32 [count, LATENT] that depends on seed and position alone, not on who asks."""
    random = np.random.default_rng([seed, position])
    return torch.from_numpy(random.standard_normal((count, LATENT), np.float32))


def main():
    options = parse_options(__doc__, "folder with MNIST-style IDX files, plain or .gz; without it "
                            "digits are drawn with this machine's fonts",
                            batch=128, epochs=5, learning_rate=0.003, held_out=1000)
    train_set, test_set = load_digits(options.data, options.cache)
    worker = Worker(options.patience)

    torch.manual_seed(options.seed)
    net = Autoencoder().to(worker.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)
    test_noise = seeded_noise(len(test_set), seed=0, position=0)

    def evaluate(indices):
        images = test_set.pixels(indices).to(worker.device)
        drawn = net(images, test_noise[indices].to(worker.device))
        errors = (torch.sigmoid(drawn[0]) - images).square().mean((1, 2, 3))
        return {"loss": negative_elbo(*drawn, images), "psnr": -10 * errors.log10().sum()}

    training = Training(worker, options, net, optimizer, evaluate, samples=len(train_set),
                        held_out=len(test_set), data_id=train_set.data_id())
    for batch in training:
        images = train_set.pixels(batch.indices).to(worker.device)
        noise = seeded_noise(batch.count, options.seed, batch.start)[batch.first:][:len(images)]
        drawn = training.model(images, noise.to(worker.device))
        optimizer.zero_grad()
        training.mean_over_workers(negative_elbo(*drawn, images)).backward()
        optimizer.step()
    return training.exit_code


if __name__ == "__main__":
    launch(main)
