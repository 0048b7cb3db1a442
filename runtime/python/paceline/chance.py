"""Where chance comes from in a training: torch, the GPU that computes, random, and NumPy where it is installed."""

import contextlib
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
    torch.manual_seed(of(*parts))
    _seed_others(*parts)


def seed_host(*parts):
    """All but GPUs, of which a loader's worker has none."""
    torch.default_generator.manual_seed(of(*parts))
    _seed_others(*parts)


@contextlib.contextmanager
def seeded(*parts):
    """In it chance is seed_host()'s of these whole numbers, and afterwards what it was."""
    before = states()
    seed_host(*parts)
    try:
        yield
    finally:
        restore(before)


def _seed_others(*parts):
    seed = of(*parts)
    random.seed(seed)
    if numpy:
        numpy.random.seed(seed)


def states(device=None):
    """What restore() goes on from. `device`: the one that this process computes on, where its chance counts, too."""
    found = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if numpy:
        found["numpy"] = numpy.random.get_state()
    if device is not None and device.type == "cuda" and torch.cuda.is_initialized():
        found["cuda"] = torch.cuda.get_rng_state(device)
    return found


def restore(found, device=None):
    torch.set_rng_state(found["torch"])
    if "cuda" in found and device is not None and device.type == "cuda":
        torch.cuda.set_rng_state(found["cuda"], device)
    random.setstate(found["python"])
    if numpy and "numpy" in found:
        numpy.random.set_state(found["numpy"])
