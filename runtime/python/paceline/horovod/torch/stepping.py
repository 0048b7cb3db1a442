"""From one step of an optimizer to the next: backward passes are counted, and complete buckets travel."""

import functools

import torch

from paceline.buckets import Bucket, Buckets, when_accumulated
from paceline.group import type_name
from paceline.horovod.torch.compression import named as compression_name
from paceline.horovod.torch.reducing import Parcel
from paceline.horovod.torch.turns import Call, described

TOO_OFTEN = ("backward() ran more often than backward_passes_per_step={} before optimizer.step(): pass a greater number to "
             "DistributedOptimizer(), or call optimizer.step() in between")


class Stepping:
    """`named`: [(name, parameter)], the same on every rank."""

    def __init__(self, world, named, manner, passes, sparse_as_dense):
        self._world, self._named, self._manner = world, named, manner
        parameters = [parameter for _, parameter in named]
        # What can't travel is told here, not in the first backward().
        for name, parameter in named:
            _check(name, parameter, manner)
        self._buckets = Buckets(parameters, functools.partial(_Bucket, manner=manner, sparse_as_dense=sparse_as_dense))
        self._number = world.turns.add(self)
        self._compared = False
        self._agreed = None  # waits until all ranks are in this step; None: it has not begun
        self.set_passes(passes)
        # Kept, or the hooks on them are gone.
        self._accumulators = [when_accumulated(each, self._accumulated) for each in parameters] if world.size > 1 else []

    @property
    def is_under_way(self):
        """Gradients have been sent that have not been received."""
        return self._agreed is not None

    def set_passes(self, passes):
        self._passes = passes
        self._left = {id(parameter): passes for _, parameter in self._named}

    def finish(self):
        """Returns once every gradient is reduced."""
        if self._world.size == 1:
            return
        self._begin()
        self._buckets.launch(self._world.group, of_all=True)
        self._agreed()
        self._buckets.receive()
        self._agreed = None
        self._buckets.begin()
        self.set_passes(self._passes)

    def add_zeros(self):
        """Takes part in a step of the others, as a rank that has joined."""
        waits = [bucket.zeros().send(self._world.group) for bucket in self._buckets]
        for wait in waits:
            wait()

    def _begin(self):
        if self._agreed is not None:
            return
        if not self._compared:
            self._compare()
        self._agreed = self._world.turns.begin_step(self._number)

    def _compare(self):
        names, parameters = zip(*self._named)
        options = {"op": self._manner.op.name, "compression": compression_name(self._manner.compression),
                   "gradient_predivide_factor": self._manner.after}
        self._world.turns.announce(Call("DistributedOptimizer", None, options, described(parameters, names)))
        self._compared = True

    def _accumulated(self, parameter):
        if not self._world.is_own:
            return
        left = self._left[id(parameter)] - 1
        if left < 0:
            raise ValueError(TOO_OFTEN.format(self._passes))
        self._left[id(parameter)] = left
        if left == 0:
            self._begin()
            self._buckets.complete(parameter)
            self._buckets.launch(self._world.group)


def _check(name, parameter, manner):
    try:
        Parcel([torch.zeros(1, dtype=parameter.dtype)], manner)
    except ValueError as error:
        raise ValueError(f"{name} is of type {type_name(parameter)}: {error}") from error


class _Bucket(Bucket):
    """Sent as a parcel, by which compressed gradients are few bytes."""

    def __init__(self, parameters, manner, sparse_as_dense):
        super().__init__(parameters)
        self._manner, self._sparse_as_dense = manner, sparse_as_dense
        self._parcel = None

    def send(self, group):
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            elif parameter.grad.layout != torch.strided:
                self._make_dense(parameter)
        self._parcel = Parcel([parameter.grad for parameter in self.parameters], self._manner)
        self.wait = self._parcel.send(group)

    def receive(self):
        self.wait()
        with torch.no_grad():
            for parameter, reduced in zip(self.parameters, self._parcel.unpacked()):
                parameter.grad.copy_(reduced)
        self._parcel = None

    def zeros(self):
        return Parcel([torch.zeros_like(parameter) for parameter in self.parameters], self._manner)

    def _make_dense(self, parameter):
        if not self._sparse_as_dense:
            raise ValueError("a sparse gradient can't be reduced: pass sparse_as_dense=True to DistributedOptimizer()")
        parameter.grad = parameter.grad.to_dense()
