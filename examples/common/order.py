"""Which sample comes when: the same order for any number of workers and any number of restarts."""

import numpy as np


class SampleOrder:
    """Positions 0, 1, 2, … of a training; every `size` of them are a seeded permutation.

    What comes depends on the position alone, so a training that knows its position can
    go on anywhere.
    """

    def __init__(self, size, seed):
        self.size = size
        self._seed = seed
        self._epoch = None
        self._permutation = None

    def indices(self, start, stop):
        """Returns the sample indices (int64) at positions [start, stop), which may span epochs."""
        parts = []
        while start < stop:
            epoch, offset = divmod(start, self.size)
            end = min(stop, (epoch + 1) * self.size)
            parts.append(self._permuted(epoch)[offset:offset + end - start])
            start = end
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _permuted(self, epoch):
        if epoch != self._epoch:
            self._permutation = np.random.default_rng([self._seed, epoch]).permutation(self.size)
            self._epoch = epoch
        return self._permutation


def evenly_spaced(count, among):
    """Returns `count` of the indices (int64) below `among`; all of them if there are fewer."""
    count = min(count, among)
    return np.arange(count) * among // count


def share(count, rank, ranks):
    """Returns (start, stop) of the part of `count` things that falls to `rank` of `ranks`."""
    return count * rank // ranks, count * (rank + 1) // ranks
