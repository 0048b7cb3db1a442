#!/usr/bin/env python3
"""Learns to draw digits: a variational autoencoder, on all devices of its job.

Start it alone, under torchrun or under Paceline; --help lists the options. Reports train_loss, and
on held-out digits loss (negative evidence lower bound per image, in nats) and psnr (of the image
drawn again, in dB). Source: Kingma and Welling, Auto-Encoding Variational Bayes, arXiv:1312.6114.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.start import start  # before torch

import paceline
import torch

from common.digits import load_digits
from common.options import parse_options
from common.order import evenly_spaced
from common.schedule import learning_rate_factor
from vae.model import LATENT, Autoencoder, negative_elbo


def main():
    options = parse_options(__doc__, "folder with MNIST-style IDX files, plain or .gz; without it "
                            "digits are drawn with this machine's fonts",
                            batch=128, epochs=5, learning_rate=0.003, held_out=1000, evaluate_every=100)
    job = paceline.init(options.patience)
    train, test = load_digits(options.data, options.cache)
    train_set, test_set = train.tensors(), test.tensors(evenly_spaced(options.held_out, len(test)))

    torch.manual_seed(options.seed)
    net = Autoencoder().to(job.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.learning_rate)
    steps = options.epochs * math.ceil(len(train_set) / options.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_factor(step, steps))
    job.distribute(net, optimizer, schedule)
    if options.checkpoint_dir:
        job.checkpoint(options.checkpoint_dir, every=options.checkpoint_every)

    def drawn(batch, noise):
        images = (batch[0].unsqueeze(1) / 255).to(job.device)
        return net(images, noise(len(images)).to(job.device)), images

    def same_noise(count):
        return torch.randn(count, LATENT, generator=torch.Generator().manual_seed(0))

    def fresh_noise(count):
        return torch.randn(count, LATENT)

    def measure(batch):
        again, images = drawn(batch, same_noise)
        errors = (torch.sigmoid(again[0]) - images).square().mean((1, 2, 3))
        return {"loss": negative_elbo(*again, images), "psnr": -10 * errors.log10().sum()}, len(images)

    for _ in job.epochs(options.epochs):
        for batch in job.batches(train_set, options.batch, seed=options.seed):
            again, images = drawn(batch, fresh_noise)
            loss = negative_elbo(*again, images) / len(images)
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
