"""Which sample comes when, and which rank computes it: a matter of the position alone.

A global batch is the next `batch` samples of the epoch's permutation, whatever the number of ranks. So
a training that knows its position goes on with any other number of ranks, and every sample comes
exactly once an epoch over any schedule of resizes.
"""

import copy
import hashlib

import torch

from paceline.errors import PacelineError

_MASK = (1 << 64) - 1
_ROUNDS = 4
_BLOCK = 4096  # places that are computed at once
NEARBY = 1024  # samples on either side of a position, of which a digest is made


def mixed(value):
    """64 bits out of 64, by the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _all_mixed(values):
    """mixed() of each of a tensor, int64: its product wraps around, and its shift brings in the sign."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ ((values >> shift) & (_MASK >> shift))) * (factor - (1 << 64))
    return values ^ ((values >> 31) & (_MASK >> 31))


class Permutation:
    """A seeded permutation of range(length) that needs little memory and any of whose places can be asked for.

    A Feistel network over the next power of four, walked until it falls into the range (Black and
    Rogaway 2002): the same on every machine and for every version of every library.
    """

    def __init__(self, length, seed, epoch):
        self.length = length
        self._half = max(1, (max(length - 1, 1).bit_length() + 1) // 2)
        self._low = (1 << self._half) - 1
        key = mixed((seed * 0x9E3779B97F4A7C15 + epoch * 0xD1B54A32D192ED03 + 1) & _MASK)
        self._keys = []
        for _ in range(_ROUNDS):
            key = mixed((key + 0x9E3779B97F4A7C15) & _MASK)
            self._keys.append(key - (1 << 64) if key >> 63 else key)
        self._block, self._indices = None, []

    def take(self, begin, end):
        """The indices at the places from begin to before end. REQUIRES: 0 <= begin <= end <= length."""
        found = []
        while begin < end:
            block = begin // _BLOCK
            if block != self._block:
                self._block, self._indices = block, self._compute(block * _BLOCK)
            stop = min(end, (block + 1) * _BLOCK)
            found += self._indices[begin - block * _BLOCK:stop - block * _BLOCK]
            begin = stop
        return found

    def _compute(self, begin):
        indices = self._encrypted(torch.arange(begin, min(begin + _BLOCK, self.length)))
        while (outside := indices >= self.length).any():
            indices[outside] = self._encrypted(indices[outside])
        return indices.tolist()

    def _encrypted(self, places):
        left, right = places >> self._half, places & self._low
        for key in self._keys:
            left, right = right, left ^ (_all_mixed(right ^ key) & self._low)
        return left << self._half | right


def share(count, rank, ranks):
    """Returns the range of `count` things that falls to `rank` of `ranks`: they differ by one at most."""
    return range(count * rank // ranks, count * (rank + 1) // ranks)


def pieces(indices, longest):
    """Cuts a sequence into as few pieces of at most `longest` as it takes, as even as can be."""
    count = -(-len(indices) // longest)
    return [indices[share(len(indices), i, count).start:share(len(indices), i, count).stop]
            for i in range(count)]


class Order:
    """The samples of epoch after epoch, `batch` at a time; the last batch of an epoch may be smaller.

    `position` is how many samples of `epoch` have been trained with.
    """

    def __init__(self, length, batch, seed=0, shuffle=True, drop_last=False):
        if length < 1:
            raise ValueError("the dataset has no samples")
        if batch < 1:
            raise ValueError(f"a global batch has at least one sample, not {batch}")
        if drop_last and batch > length:
            raise ValueError(f"a global batch of {batch} is never full with {length} samples")
        self.length, self.batch, self.seed = length, batch, seed
        self.shuffle, self.drop_last = shuffle, drop_last
        self.epoch = self.position = 0
        self._permutation = None  # of the epoch it was asked for last

    def set_batch(self, batch):
        """Global batches of so many samples, or of all that there are: with drop_last an epoch of fewer would have none."""
        self.batch = min(batch, self.length)

    def next(self):
        """The indices of the next global batch; empty at the end of the epoch."""
        end = min(self.position + self.batch, self.length)
        if self.drop_last and end - self.position < self.batch:
            return []
        return self._take(self.position, end)

    def digest(self):
        """Of the samples before and after the position: another order has another."""
        nearby = self._take(max(0, self.position - NEARBY), min(self.position + NEARBY, self.length))
        return hashlib.sha256(repr(nearby).encode()).hexdigest()

    def _take(self, begin, end):
        if not self.shuffle:
            return list(range(begin, end))
        if self._permutation is None or self._permutation[0] != self.epoch:
            self._permutation = self.epoch, Permutation(self.length, self.seed, self.epoch)
        return self._permutation[1].take(begin, end)

    def step(self, count):
        """So many samples, the last ones that next() gave, have been trained with."""
        self.position += count

    def copy(self):
        return copy.copy(self)

    def part_done(self):
        """Of the epoch."""
        return self.position / self.length

    def begin(self, epoch):
        """Goes on with `epoch`; where it is this one already, from its position."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    def state(self):
        return {"length": self.length, "seed": self.seed, "epoch": self.epoch,
                "position": self.position}

    def __str__(self):
        return (f"{self.length} samples in global batches of {self.batch} (seed={self.seed}, shuffle={self.shuffle}, "
                f"drop_last={self.drop_last})")

    def restore(self, state):
        """Goes on where state() was taken. Raises ValueError if that was another order."""
        for name, now in (("length", self.length), ("seed", self.seed)):
            if name not in state:
                raise ValueError("they could only be gone through, now they have a length")
            if state[name] != now:
                raise ValueError(f"the {name} of the data was {state[name]}, now it is {now}")
        self.epoch, self.position = state["epoch"], state["position"]


def compare_orders(group, order):
    """Raises PacelineError on every rank where ranks have different ones."""
    everyones = [each.decode() for each in group.all_gather_bytes(str(order).encode(), "begins an epoch")]
    other = next((rank for rank, each in enumerate(everyones) if each != everyones[0]), None)
    if other is not None:
        raise PacelineError(different_data(0, everyones[0], other, everyones[other]))


def different_data(rank, order, other_rank, other):
    return f"The ranks have different data: rank {rank} has {order}, rank {other_rank} has {other}."
