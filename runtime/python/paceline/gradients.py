"""Gradients become the mean over the samples of the global batch, on every rank, while backward runs.

Each rank computes its share in one or more pieces. Every gradient of a piece counts by the piece's
part of the global batch, so the sum over pieces and ranks is the mean. While the last piece's backward
runs, buckets of gradients that are complete are summed over the ranks by the generation's carrier, in the
same order everywhere.
"""

import contextlib

import torch

from paceline.buckets import Bucket, Buckets, when_accumulated
from paceline.carriers import Flat
from paceline.errors import GroupError, PacelineError
from paceline.group import SUM
from paceline.nccl import NcclError
from paceline.ways import over_host

RAN_AGAIN = ("backward() ran again after the gradients of this batch were summed over the ranks: add the losses, and call "
             "backward() once for each batch. Freeze a model that another's loss only passes through (requires_grad_(False)), and "
             "pass use_reentrant=False to torch.utils.checkpoint.")
CAME_AGAIN = ("A parameter got another gradient after its first was sent to the other ranks, as in a layer that is used more than "
              "once under torch.utils.checkpoint: pass use_reentrant=False there.")


class Gradients:
    """REQUIRES: the model's parameters are the same, in the same order, on every rank; `ranks` has the
    group and the carrier, `pieces` tells where the global batch stands, `sums` calls finish(); `summed`: parameters that
    others have trained before this rank joined them."""

    def __init__(self, model, ranks, pieces, sums, summed=()):
        self._ranks, self._pieces, self._sums = ranks, pieces, sums
        self._accumulators = []  # kept, or the hooks on them are gone
        self._weight, self._at_once = 1.0, False
        self._count = None  # what this rank's pieces count, where the script says it
        self._part = 0.0  # of the global batch that this rank's pieces are
        self._measures, self._squares = False, None
        self.done = True  # the global batch is summed up
        self._sets_aside = False  # where the backward() that runs ends
        self._aside = {}  # by a parameter's id: the sum over the pieces so far, until it is added to that of the last one
        self._trained, self._buckets = Trained(model, self._watch, summed), Buckets([], _Bucket)
        self.renew()

    @property
    def _parameters(self):
        return self._trained.parameters

    def renew(self):
        """Between global batches, on every rank alike: what the script has begun to train is summed, too."""
        if self._trained.renew():
            self._buckets = Buckets(self._parameters, _Bucket)
            for bucket in self._buckets:
                bucket.measures = self._measures

    @property
    def summed(self):
        """The parameters whose gradients travel, frozen since or not."""
        return self._parameters

    def check(self):
        """Raises PacelineError where a parameter has a gradient that nobody sums."""
        self._trained.check()

    def _watch(self, parameter):
        parameter.register_hook(self._weigh)
        self._accumulators.append(when_accumulated(parameter, self._accumulated))

    def begin(self, weight):
        """The next piece is `weight` of the global batch."""
        # Gradients of a single piece are weighed as they are sent, all at once.
        self._at_once = self.done and self._pieces.last and self._ranks.group.size > 1
        if self.done:
            self._count, self._part = None, 0.0
            if self._trained.grew():
                self.renew()
        self.done = self._sets_aside = False
        self._part += weight
        self._buckets.begin()
        self._weigh_by(weight)

    def _weigh_by(self, weight):
        self._weight = 1.0 if self._at_once else weight
        for bucket in self._buckets:
            bucket.weight = weight if self._at_once else 1.0

    def count(self, count):
        """The piece counts so much, and the mean is over what all pieces count: every rank says it of every piece."""
        self._weigh_by(count)
        self._count = (self._count or 0.0) + count

    def finish(self):
        """All pieces have been differentiated. Nothing more where the group failed."""
        self.done = True
        try:
            if not self._pieces.error:
                self._sum_up()
        except GroupError as error:
            self._pieces.suffer(error)

    def drop(self):
        """What was computed of the global batch doesn't count."""
        self.done, self._aside = True, {}
        for parameter in self._parameters:
            parameter.grad = None

    def _sum_up(self):
        for parameter in self._parameters:
            self._add_aside(parameter)
        if self._ranks.group.size > 1:
            with self._ranks.timeline.span("gradients"):
                self._exchange()
                if self._measures and self._count is None:
                    self._take_measure()
        if self._count is not None:
            whole = whole_count(self._ranks.group, self._count)
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(whole)

    def _exchange(self):
        if not self._parameters:
            return
        try:
            self._buckets.launch(self._ranks.carrier, of_all=True)
            self._ranks.carrier.settle(self._buckets.last.flat)
        except NcclError as error:  # of all ranks; the gradients themselves are as they were
            self._ranks.drop_carrier()
            self._ranks.carrier = over_host(self._ranks.group, f"NCCL broke: {error}")
            self._buckets.begin()
            self._buckets.launch(self._ranks.carrier, of_all=True)
        self._buckets.receive()

    def measure(self):
        """From now on squares are measured."""
        self._measures = True
        for bucket in self._buckets:
            bucket.measures = True

    def take_squares(self):
        """|g|^2 over the last global batch: of the ranks' own gradients in the mean, and of their mean. None where that
        wasn't measured: on one rank, or with job.weight()."""
        squares, self._squares = self._squares, None
        return squares

    def _take_measure(self):
        # What a rank sends is its gradient times its part, and in the mean it counts by its part.
        sent = _total(bucket.square for bucket in self._buckets)
        mean = torch.tensor([sent / self._part if self._part else 0.0], dtype=torch.float64)
        self._ranks.group.all_reduce(mean, SUM)
        whole = _total(_square(each.grad) for each in self._parameters if each.grad is not None)
        self._squares = mean.item(), whole

    def _weigh(self, gradient):
        if self._pieces.between:
            return gradient  # of something else than a batch
        if not self._pieces.last and not self._sets_aside:
            self._sets_aside = True
            torch.autograd.Variable._execution_engine.queue_callback(self._set_aside)
        return gradient if self._weight == 1.0 else weighed(gradient, self._weight)

    # What the script does with gradients it does to those of the whole global batch: it clips them, say.
    def _set_aside(self):
        self._sets_aside = False
        if self._pieces.last or self._pieces.between:
            return
        for parameter in self._parameters:
            self._add_aside(parameter)
            if parameter.grad is not None:
                self._aside[id(parameter)], parameter.grad = parameter.grad, None

    @torch.no_grad()
    def _add_aside(self, parameter):
        before = self._aside.pop(id(parameter), None)
        if before is not None:
            parameter.grad = before if parameter.grad is None else before.add_(parameter.grad)

    def _accumulated(self, parameter):
        if self._pieces.between or not self._pieces.last or self._pieces.error:
            return
        if self.done:
            raise PacelineError(RAN_AGAIN)
        self._sums.is_due(self)
        self._add_aside(parameter)
        if self._ranks.group.size == 1 or self._sums.of_several:
            return
        if self._buckets.is_sent(parameter):
            raise PacelineError(CAME_AGAIN)
        self._buckets.complete(parameter)
        try:
            self._buckets.launch(self._ranks.carrier)
        except GroupError as error:
            self._pieces.suffer(error)


def whole_count(group, count):
    """What the pieces of all ranks count. Raises PacelineError where that is nothing."""
    whole = torch.tensor([count], dtype=torch.float64)
    group.all_reduce(whole, SUM)
    if not whole > 0:
        raise PacelineError("job.weight() was 0 for the whole global batch: its mean would be of nothing")
    return whole.item()


def weighed(gradient, weight):
    """What counts for nothing is left out, whatever comes out of it: the mean of no tokens is NaN."""
    return gradient * weight if weight else torch.zeros_like(gradient)


def trained(model):
    """The parameters whose gradients travel."""
    return [each for each in model.parameters() if each.requires_grad]


@contextlib.contextmanager
def _needing_gradients(parameter):
    """For a moment: one that is frozen takes no hooks, but keeps those that it has."""
    needs = parameter.requires_grad
    parameter.requires_grad_(True)
    try:
        yield
    finally:
        parameter.requires_grad_(needs)


class Trained:
    """Those parameters, and what else the model has. One that the script freezes stays among them.

    `watch(parameter)` is called once for each. `summed`: those that are among them in any case."""

    def __init__(self, model, watch, summed):
        self._model, self._watch = model, watch
        self._summed = {id(each) for each in summed}
        self.parameters, self._others = [], []

    def grew(self):
        """The script has unfrozen others."""
        return any(each.requires_grad for each in self._others)

    def renew(self):
        """Takes in those, and what the model has got since. False: there is none."""
        known = {id(each) for each in self.parameters}
        everyone = list(self._model.parameters())
        unknown = [each for each in everyone if id(each) not in known]
        fresh = [each for each in unknown if each.requires_grad or id(each) in self._summed]
        self._others = [each for each in unknown if not (each.requires_grad or id(each) in self._summed)]
        for each in fresh:
            with _needing_gradients(each):
                self._watch(each)
        known.update(map(id, fresh))
        self.parameters = [each for each in everyone if id(each) in known]
        return bool(fresh)

    def check(self):
        """Raises PacelineError where others have a gradient."""
        for each in self._others:
            if each.requires_grad and each.grad is not None:
                name = next(name for name, other in self._model.named_parameters() if other is each)
                raise PacelineError(f"{name} was unfrozen after job.batches() had handed out the batch: its gradient is not summed "
                                    "over the ranks. Set requires_grad before job.batches(), or right after job.step().")


def _square(tensor):
    return tensor.double().square().sum()


def _total(values):
    """Of single numbers on any device, which is asked but once."""
    values = list(values)
    return float(torch.stack([each.to(values[0].device) for each in values]).sum()) if values else 0.0


class _Bucket(Bucket):
    """After its gradients travels how many ranks have each of them."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.weight = 1.0  # by which gradients are multiplied
        self.measures, self.square = False, None  # whether, and |.|^2 of what was sent
        self._sizes = [each.numel() for each in parameters]
        count = len(parameters)
        self.flat = Flat(parameters[0].new_zeros(sum(self._sizes) + count), count)
        *self._parts, self._counts = self.flat.tensor.split([*self._sizes, count])
        self._had = self._has = None  # which gradients there were, in two forms

    def send(self, by):
        gradients = [each.grad for each in self.parameters]
        for gradient, part in zip(gradients, self._parts):
            if gradient is None:
                part.zero_()
        there = [(part, each.reshape(-1)) for part, each in zip(self._parts, gradients) if each is not None]
        copy_all([part for part, _ in there], [each for _, each in there])
        if self.weight == 0:  # as in weighed()
            self.flat.tensor[:-len(self.parameters)].zero_()
        elif self.weight != 1.0:
            self.flat.tensor[:-len(self.parameters)].mul_(self.weight)
        if self.measures:
            self.square = _square(self.flat.tensor[:-len(self.parameters)])
        had = [float(each is not None) for each in gradients]
        if had != self._had:
            self._had, self._has = had, torch.tensor(had).to(self._counts)
        self._counts.copy_(self._has)
        self.wait = by.start(self.flat)

    def receive(self):
        received = []
        for parameter, part, ranks in zip(self.parameters, self._parts, self.wait()):
            if ranks == 0:
                continue  # unused on every rank, as on one device
            if parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            received.append((parameter.grad, part.view_as(parameter.grad)))
        copy_all([gradient for gradient, _ in received], [part for _, part in received])


def copy_all(targets, sources):
    """Each into its target; on a GPU at once, where PyTorch can."""
    if targets and targets[0].device.type != "cpu" and hasattr(torch, "_foreach_copy_"):
        torch._foreach_copy_(targets, sources)
        return
    for target, source in zip(targets, sources):
        target.copy_(source)
