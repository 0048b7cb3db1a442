"""A variational autoencoder of digits. Source: Kingma and Welling, Auto-Encoding Variational Bayes, arXiv:1312.6114."""

import torch
from torch import nn
from torch.nn import functional as F

LATENT = 16


class Autoencoder(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.SiLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.SiLU(), nn.Flatten(),
            nn.Linear(32 * 7 * 7, hidden), nn.SiLU(),
            nn.Linear(hidden, 2 * LATENT))
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, hidden), nn.SiLU(),
            nn.Linear(hidden, 32 * 7 * 7), nn.SiLU(), nn.Unflatten(1, (32, 7, 7)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.SiLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1))

    def forward(self, images, noise):
        """float32 [n, 1, 28, 28] and [n, LATENT] → logits like images, mean, log of variance."""
        mean, log_variance = self.encoder(2 * images - 1).chunk(2, dim=1)
        return self.decoder(mean + noise * torch.exp(log_variance / 2)), mean, log_variance


def negative_elbo(logits, mean, log_variance, images):
    """Returns the sum over the images, in nats."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
    return reconstruction + divergence
