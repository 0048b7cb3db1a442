"""Data that can only be gone through, sample after sample: which comes when, and which rank reads it.

Such a dataset declares how many parts it has that can be read each by itself, `num_shards`; `shard(num_shards=n, index=i)` is an
iterable of one, with state_dict() and load_state_dict() to go on in its middle: the names that Hugging Face's datasets have.
A global batch takes a sample of each shard in turn, of those that have one left, whatever the number of ranks, and a rank
reads the shards that its part of the batch lies in. So every sample comes exactly once an epoch over any schedule of resizes.

Where a shard ends shows when it is read: ranks tell each other, and plan that batch anew.
"""

import copy
import hashlib
from bisect import bisect_left
from collections import deque
from contextlib import nullcontext
from itertools import islice

import torch
from torch.utils.data import DataLoader, default_collate

from paceline import chance, state
from paceline.errors import PacelineError
from paceline.group import MIN
from paceline.order import share

GATHER_EVERY = 100  # global batches, after which ranks tell each other how to go on in each shard
_NO_END = 1 << 62
_END = object()  # in place of a sample


class Iterable:
    """What a script gave as its data. `collate`: makes a batch of a list of samples."""

    def __init__(self, data):
        self.dataset = data.dataset if isinstance(data, DataLoader) else data
        self.collate = data.collate_fn if isinstance(data, DataLoader) else default_collate
        self._unused = data.num_workers if isinstance(data, DataLoader) else 0
        found = getattr(self.dataset, "num_shards", None) or getattr(self.dataset, "n_shards", None)
        self._declared = isinstance(found, int) and found > 0 and callable(getattr(self.dataset, "shard", None))
        self.count = found if self._declared else 1

    def shard(self, index, epoch):
        if callable(getattr(self.dataset, "set_epoch", None)):
            self.dataset.set_epoch(epoch)
        return self.dataset.shard(num_shards=self.count, index=index) if self._declared else self.dataset

    def doubts(self):
        """What its author should know, in sentences."""
        name = type(self.dataset).__name__
        if not self._declared:
            yield (f"{name} declares no shards (num_shards, and shard(num_shards, index)): every rank reads all of it, and takes its "
                   "part.")
        if not _has_state(self.shard(0, 0)):
            yield (f"{name} has no state_dict() and load_state_dict(): after a start or a resize it is read again from its begin. "
                   "Each sample comes exactly once only if it gives the same ones in the same order each time.")
        if self._unused:
            yield f"{name} can only be gone through: each rank reads it itself, without the DataLoader's workers."

    def shares(self, rank, size, batch_size):
        """Batches of all that this rank takes of the data, each with whether it counts: a rank that gets none computes one
        that doesn't."""
        samples = self._all_of(share(self.count, rank, size)) if self.count >= size else self._every(rank, size, batch_size)
        some = False
        while part := list(islice(samples, batch_size)):
            some = True
            yield self.collate(part), True
        if not some:
            first = list(islice(self._all_of(range(self.count)), 1))
            if not first:
                raise PacelineError(f"The {type(self.dataset).__name__} has no samples.")
            yield self.collate(first), False

    def _all_of(self, indices):
        return (sample for index in indices for sample in self.shard(index, 0))

    def _every(self, rank, size, batch_size):
        return (sample for number, sample in enumerate(self._all_of(range(self.count))) if number // batch_size % size == rank)


class _Reader:
    """A shard, gone through from its sample `at` on, for which it has the state. It keeps what it read until release()."""

    def __init__(self, shard, at, its_state):
        self._shard = shard
        if its_state is not None:
            shard.load_state_dict(copy.deepcopy(its_state))  # which a shard may keep, and change
        self._samples, self._kept = iter(shard), deque()
        self._first = self.next = at

    def read(self, number, seed):
        """Up to that sample. False: it ends before. `seed`: makes chance that belongs to each sample."""
        while self.next <= number:
            with chance.seeded(*seed, self.next) if seed else nullcontext():
                sample = next(self._samples, _END)
            if sample is _END:
                return False
            self._kept.append(sample)
            self.next += 1
        return True

    def sample(self, number):
        return self._kept[number - self._first]

    def has(self, number):
        return self._first <= number

    def release(self, end):
        """Those before it have been trained with."""
        while self._kept and self._first < end:
            self._kept.popleft()
            self._first += 1

    def state(self):
        return self._shard.state_dict() if _has_state(self._shard) else None


class Shards:
    """The samples of epoch after epoch, `batch` at a time: (shard, number), shard by shard. As paceline.order.Order.

    `position`: how many samples of `epoch` have been trained with.
    """

    def __init__(self, data, batch, seed=0, drop_last=False, chance_of_samples=False):
        if batch < 1:
            raise ValueError(f"a global batch has at least one sample, not {batch}")
        self.batch, self.seed, self.drop_last = batch, seed, drop_last
        self._data, self._chance = data, chance_of_samples
        self._reset(0)

    def _reset(self, epoch):
        self.epoch, self._batches, self._turn = epoch, 0, 0
        self._taken, self._ends = [0] * self._data.count, [_NO_END] * self._data.count
        self._agreed = None  # the ends that all ranks know
        self._states = {}  # of each shard, the newest that all ranks know: (its next sample, the state)
        self._readers, self._planned = {}, None

    @property
    def position(self):
        return sum(self._taken)

    def set_batch(self, batch):
        self.batch = batch

    def begin(self, epoch):
        if epoch != self.epoch:
            self._reset(epoch)

    def part_done(self):
        """Of the epoch: nobody knows how long it is."""
        return 0.0

    # ---- the next batch ----

    def agree(self, group):
        """On where shards end, as far as any rank knows: before the first next() of a generation, and after each read(). False: one
        has ended since the last time, and all ranks ask for next() again. Raises GroupError."""
        ends = torch.tensor(self._ends, dtype=torch.int64)
        group.all_reduce(ends, MIN)
        before, self._agreed = self._agreed, ends.tolist()
        self._ends = list(self._agreed)
        return before == self._agreed

    def next(self):
        """Of the next global batch; empty at the end of the epoch."""
        taken, turn, found = list(self._taken), self._turn, []
        left = [shard for shard in range(self._data.count) if taken[shard] < self._ends[shard]]
        place = bisect_left(left, turn)
        while left and len(found) < self.batch:
            place %= len(left)
            shard = left[place]
            found.append((shard, taken[shard]))
            taken[shard] += 1
            turn = shard + 1
            if taken[shard] < self._ends[shard]:
                place += 1
            else:
                left.pop(place)
        if self.drop_last and len(found) < self.batch:
            return []
        self._planned = taken, turn
        return sorted(found)

    def read(self, parts):
        """What this rank needs of the batch, as far as it is there."""
        for shard, number in sorted(key for part in parts for key in part):
            reader = self._reader(shard)
            if not reader.read(number, self._chance and (self.seed, self.epoch, shard)):
                self._ends[shard] = min(self._ends[shard], reader.next)

    def _reader(self, shard):
        reader, taken = self._readers.get(shard), self._taken[shard]
        at, its_state = self._states.get(shard, (0, None))
        if not reader or not reader.has(taken) or reader.next < at <= taken:
            reader = self._readers[shard] = _Reader(self._data.shard(shard, self.epoch), at, its_state)
        # What others trained with is passed over.
        if not reader.read(taken - 1, self._chance and (self.seed, self.epoch, shard)):
            raise PacelineError(f"The data are others than before: shard {shard} had {taken} samples at least, now it ends after "
                                f"{reader.next}.")
        reader.release(taken)
        return reader

    def load(self, parts, epoch):
        """Batches of what was read. REQUIRES: all agreed after read() of them; `epoch` is this one."""
        return (self._data.collate([self._readers[shard].sample(number) for shard, number in part]) for part in parts)

    def step(self, count):
        """So many samples, those that next() gave last, have been trained with."""
        self._taken, self._turn = self._planned
        self._planned = None
        self._batches += 1

    # ---- going on ----

    def gather(self, group):
        """Every rank tells the others how to go on in the shards that it has read as far as they were trained with. Raises
        GroupError."""
        own = {shard: (reader.next, reader.state()) for shard, reader in self._readers.items() if reader.next == self._taken[shard]}
        own = {shard: each for shard, each in own.items() if each[1] is not None}
        for told in group.all_gather_bytes(state.packed(own), "gathers where shards stand"):
            self._states.update(state.unpacked(told))

    def is_to_gather(self):
        return self._batches % GATHER_EVERY == 0

    def state(self):
        return {"shards": self._data.count, "seed": self.seed, "epoch": self.epoch, "position": self.position, "taken": self._taken,
                "ends": self._ends, "turn": self._turn, "batches": self._batches, "states": self._states}

    def restore(self, found):
        """Goes on where state() was taken. Raises ValueError if that was of other data."""
        for name, was, now in (("number of shards", found.get("shards"), self._data.count), ("seed", found["seed"], self.seed)):
            if was is None:
                raise ValueError("they had a length, now they can only be gone through")
            if was != now:
                raise ValueError(f"the {name} of the data was {was}, now it is {now}")
        self._reset(found["epoch"])
        self._taken, self._ends, self._turn = list(found["taken"]), list(found["ends"]), found["turn"]
        self._batches, self._states = found["batches"], dict(found["states"])

    def digest(self):
        """Another order has another."""
        return hashlib.sha256(repr([self.epoch, self._taken, self._turn]).encode()).hexdigest()

    def __str__(self):
        return f"{self._data.count} shards in global batches of {self.batch} (seed={self.seed}, drop_last={self.drop_last})"


def _has_state(shard):
    return callable(getattr(shard, "state_dict", None)) and callable(getattr(shard, "load_state_dict", None))
