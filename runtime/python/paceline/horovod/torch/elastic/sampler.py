"""ElasticSampler: which samples of an epoch are left, and which of them are this rank's."""

import torch

from paceline.horovod.torch.world import rank, size
from paceline.order import Permutation


class ElasticSampler(torch.utils.data.Sampler):
    """Deals the samples that the epoch has left out to all ranks.

    Every rank gets as many: where it doesn't go even, samples come again to fill up. record_batch() or
    record_indices() say what was trained with; after a start with other ranks the rest is dealt out anew.
    The order depends on `seed` and the epoch alone.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.processed_indices = set()
        self.reset()

    def reset(self):
        """Deals out what is left, to the ranks that there are."""
        self.num_replicas, self.rank = size(), rank()
        length = len(self.dataset)
        order = Permutation(length, self.seed, self.epoch).take(0, length) if self.shuffle else range(length)
        self.remaining_indices = [index for index in order if index not in self.processed_indices]
        self.num_samples = -(-len(self.remaining_indices) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
        filled = list(self.remaining_indices)
        while filled and len(filled) < self.total_size:
            filled += self.remaining_indices[:self.total_size - len(filled)]
        self.indices = filled[self.rank::self.num_replicas]

    def set_epoch(self, epoch):
        """All samples are left again, in that epoch's order. At the end of an epoch, so that commits know of it."""
        self.epoch = epoch
        self.processed_indices = set()
        self.reset()

    def get_indices(self, batch_idx, batch_size):
        """Of this rank's batch, counted since the last reset()."""
        return self.indices[batch_idx * batch_size:(batch_idx + 1) * batch_size]

    def record_batch(self, batch_idx, batch_size):
        self.record_indices(self.get_indices(batch_idx, batch_size))

    def record_indices(self, indices):
        self.processed_indices.update(indices)

    def state_dict(self):
        return {"epoch": self.epoch, "processed_indices": set(self.processed_indices)}

    def load_state_dict(self, state_dict):
        self.epoch, self.processed_indices = state_dict["epoch"], set(state_dict["processed_indices"])
        self.reset()

    def __iter__(self):
        return iter(self.indices)

    def __len__(self):
        return self.num_samples
