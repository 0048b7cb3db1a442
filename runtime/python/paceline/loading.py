"""Batches of given samples, out of a dataset or with the means of a DataLoader."""

import weakref

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, default_collate

from paceline import chance
from paceline.errors import PacelineError
from paceline.order import pieces, share
from paceline.shards import Iterable


class Loaders:
    """What loads samples of what a script gives as its data."""

    def __init__(self):
        self._kept = weakref.WeakKeyDictionary()  # of DataLoaders whose workers persist

    def of(self, data, seed=None, evaluates=False):
        """`seed`: what is drawn by chance in a sample belongs to it. `evaluates`: beside what is loaded for the training.
        Raises PacelineError where data are none."""
        dataset = data.dataset if isinstance(data, DataLoader) else data
        if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
            if not hasattr(dataset, "__iter__") or hasattr(dataset, "__next__"):
                raise PacelineError(f"job.batches() needs a dataset with len() and [], or one that can be gone through each time "
                                    f"anew, and a {type(dataset).__name__} is neither.")
            return Iterable(data)
        if torch.is_tensor(data) or type(data) is TensorDataset:
            return _Tensors(data)
        if not isinstance(data, DataLoader):
            return _Dataset(dataset, seed)
        if not data.persistent_workers:
            return _Loader(data, seed)
        kept = self._kept.setdefault(data, {})
        use = seed, evaluates
        if use not in kept:
            kept[use] = _Loader(data, seed)
        return kept[use]


class _Indexed:
    """`length` samples that can be asked for by their index."""

    def shares(self, rank, size, batch_size):
        """Batches of all that this rank takes of the data, each with whether it counts: a rank that gets none computes one
        that doesn't."""
        mine = share(self.length, rank, size)
        for batch in self.load(pieces(mine or [0], batch_size)):
            yield batch, bool(mine)


class _Tensors(_Indexed):
    """All samples of a batch at once."""

    def __init__(self, tensors):
        self.length, self._tensors = len(tensors), tensors

    def load(self, parts, epoch=0):
        return (self._tensors[list(part)] for part in parts)


class _Dataset(_Indexed):
    def __init__(self, dataset, seed):
        self.length, self._dataset = len(dataset), _Samples(dataset, seed)

    def load(self, parts, epoch=0):
        return (default_collate([self._dataset[epoch, i] for i in part]) for part in parts)


class _Loader(_Indexed):
    """With the DataLoader's own means: its workers fetch ahead. They stay, whatever is loaded next; what they have fetched
    and nobody took is dropped then."""

    def __init__(self, loader, seed):
        self.length, self._wanted = len(loader.dataset), _Wanted()
        stays = {"prefetch_factor": loader.prefetch_factor, "persistent_workers": True} if loader.num_workers else {}
        self._loader = DataLoader(_Samples(loader.dataset, seed), batch_sampler=self._wanted, collate_fn=loader.collate_fn,
                                  num_workers=loader.num_workers, pin_memory=loader.pin_memory, timeout=loader.timeout,
                                  worker_init_fn=loader.worker_init_fn, generator=loader.generator,
                                  multiprocessing_context=loader.multiprocessing_context, **stays)

    def load(self, parts, epoch=0):
        self._wanted.parts, self._wanted.epoch = parts, epoch
        return iter(self._loader)


class _Wanted:
    """What a DataLoader takes for a batch sampler."""

    def __iter__(self):
        epoch = self.epoch
        return ([(epoch, i) for i in part] for part in self.parts)


class _Samples(Dataset):
    """A dataset, asked for (epoch, index). With a seed its samples draw their chance from that, epoch and index alone."""

    def __init__(self, dataset, seed):
        self._dataset, self._seed = dataset, seed

    def __getitem__(self, key):
        epoch, index = key
        if self._seed is None:
            return self._dataset[index]
        with chance.seeded(self._seed, epoch, index):
            return self._dataset[index]
