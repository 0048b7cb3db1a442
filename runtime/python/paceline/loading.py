"""Batches of given samples, out of a dataset or with the means of a DataLoader."""

import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from paceline.errors import PacelineError


def loader_of(data):
    """Raises PacelineError where samples can't be asked for by their index."""
    dataset = data.dataset if isinstance(data, DataLoader) else data
    if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise PacelineError(f"job.batches() needs a dataset with len() and [], and a {type(dataset).__name__} "
                            "has none: each sample could not come exactly once.")
    if torch.is_tensor(dataset):
        return _Tensor(dataset)
    return _Loader(data) if isinstance(data, DataLoader) else _Dataset(dataset, default_collate)


class _Tensor:
    def __init__(self, tensor):
        self.length, self._tensor = len(tensor), tensor

    def load(self, parts):
        return (self._tensor[list(part)] for part in parts)


class _Dataset:
    def __init__(self, dataset, collate):
        self.length, self._dataset, self._collate = len(dataset), dataset, collate

    def load(self, parts):
        return (self._collate([self._dataset[i] for i in part]) for part in parts)


class _Loader:
    """With the DataLoader's own workers, which live as long as this does."""

    def __init__(self, loader):
        self.length = len(loader.dataset)
        self._plain = _Dataset(loader.dataset, loader.collate_fn)
        self._loader = loader

    def load(self, parts):
        if self._loader.num_workers == 0:
            return self._plain.load(parts)
        return iter(DataLoader(self._loader.dataset, batch_sampler=[list(part) for part in parts],
                               collate_fn=self._loader.collate_fn, num_workers=self._loader.num_workers,
                               pin_memory=self._loader.pin_memory,
                               worker_init_fn=self._loader.worker_init_fn))
