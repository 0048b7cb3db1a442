"""Batches of given samples, out of a dataset or with the means of a DataLoader."""

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from paceline.errors import PacelineError


def loader_of(data, of=lambda dataset: dataset):
    """`of(dataset)` is what samples are asked of. Raises PacelineError where samples can't be asked for by their index."""
    dataset = data.dataset if isinstance(data, DataLoader) else data
    if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise PacelineError(f"job.batches() needs a dataset with len() and [], and a {type(dataset).__name__} "
                            "has none: each sample could not come exactly once.")
    if torch.is_tensor(data) or type(data) is TensorDataset:
        return _Tensors(data)
    return _Loader(data, of(dataset)) if isinstance(data, DataLoader) else _Dataset(of(dataset), default_collate)


class _Tensors:
    """All samples of a batch at once."""

    def __init__(self, tensors):
        self.length, self._tensors = len(tensors), tensors

    def load(self, parts):
        return (self._tensors[list(part)] for part in parts)


class _Dataset:
    def __init__(self, dataset, collate):
        self.length, self._dataset, self._collate = len(dataset), dataset, collate

    def load(self, parts):
        return (self._collate([self._dataset[i] for i in part]) for part in parts)


class _Loader:
    """With the DataLoader's own means: its workers fetch ahead."""

    def __init__(self, loader, dataset):
        self.length = len(dataset)
        self._loader, self._dataset = loader, dataset

    def load(self, parts):
        mine = self._loader
        ahead = {"prefetch_factor": mine.prefetch_factor} if mine.num_workers else {}
        return iter(DataLoader(self._dataset, batch_sampler=_Parts(parts), collate_fn=mine.collate_fn,
                               num_workers=mine.num_workers, pin_memory=mine.pin_memory, timeout=mine.timeout,
                               worker_init_fn=mine.worker_init_fn, generator=mine.generator,
                               multiprocessing_context=mine.multiprocessing_context, **ahead))


class _Parts:
    """What a DataLoader takes for a batch sampler."""

    def __init__(self, parts):
        self._parts = parts

    def __iter__(self):
        return (list(part) for part in self._parts)
