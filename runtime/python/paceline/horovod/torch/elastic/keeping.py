"""How one value of a TorchState is kept: saved, restored, and made alike on all ranks.

Each keeper has `value`, and what save() took of it last in `saved`.
"""

import copy

import torch

from paceline.horovod.torch.elastic.sampler import ElasticSampler
from paceline.horovod.torch.sharing import (
    allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters)


class Plain:
    def __init__(self, value):
        self.value = value
        self.save()

    def save(self):
        self.saved = copy.deepcopy(self.value)

    def restore(self):
        self.value = copy.deepcopy(self.saved)

    def sync(self):
        self.value = broadcast_object(self.value, 0)

    def gathered(self):
        """What was saved, by all ranks together. Every rank calls it."""
        return self.saved


class Stateful(Plain):
    """What has a state_dict(): a scheduler, say. The object stays the same."""

    def save(self):
        self.saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        self.value.load_state_dict(copy.deepcopy(self.saved))

    def sync(self):
        self.value.load_state_dict(broadcast_object(self.value.state_dict(), 0))


class Model(Stateful):
    def sync(self):
        broadcast_parameters(self.value.state_dict(), 0)


class Optimizer(Stateful):
    def sync(self):
        broadcast_optimizer_state(self.value, 0)


class Sampler(Stateful):
    """Each rank knows what it has trained with; together they know what is left."""

    def sync(self):
        self.value.load_state_dict(_together(self.value.state_dict()))

    def gathered(self):
        return _together(self.saved)


def _together(state_dict):
    everyones = allgather_object(state_dict)
    return {**everyones[0], "processed_indices": set().union(*(each["processed_indices"] for each in everyones))}


def kind_of(value):
    """The class of its keeper."""
    if isinstance(value, torch.nn.Module):
        return Model
    if isinstance(value, torch.optim.Optimizer):
        return Optimizer
    if isinstance(value, ElasticSampler):
        return Sampler
    return Stateful if hasattr(value, "state_dict") and hasattr(value, "load_state_dict") else Plain
