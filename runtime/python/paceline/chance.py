"""Where chance comes from in a training: torch, random, and NumPy where it is installed."""

import random

import torch

from paceline.order import mixed

try:
    import numpy
except ImportError:
    numpy = None


def of(*parts):
    """A seed that depends on these whole numbers, below 2^32."""
    seed = 0
    for part in parts:
        seed = mixed((seed * 0x9E3779B97F4A7C15 + part + 1) & ((1 << 64) - 1))
    return seed >> 32


def seed_all(*parts):
    """Seeds them all by these whole numbers."""
    seed = of(*parts)
    torch.manual_seed(seed)
    random.seed(seed)
    if numpy:
        numpy.random.seed(seed)


def states():
    """What restore() goes on from."""
    found = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if numpy:
        found["numpy"] = numpy.random.get_state()
    return found


def restore(found):
    torch.set_rng_state(found["torch"])
    random.setstate(found["python"])
    if numpy and "numpy" in found:
        numpy.random.set_state(found["numpy"])
