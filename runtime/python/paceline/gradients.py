"""Gradients become the mean over the samples of the global batch, on every rank, while backward runs.

Each rank computes its share in one or more pieces. Every gradient of a piece counts by the piece's
part of the global batch, so the sum over pieces and ranks is the mean. While the last piece's backward
runs, buckets of gradients that are complete are summed over the ranks by the group's own thread, in the
same order everywhere.
"""

import torch

from paceline.buckets import Bucket, Buckets, when_accumulated
from paceline.errors import GroupError, PacelineError
from paceline.group import SUM

RAN_AGAIN = ("backward() ran again after the gradients of this batch were summed over the ranks: add the losses, "
             "and call backward() once for each batch")


class Gradients:
    """REQUIRES: the model's parameters are the same, in the same order, on every rank; `ranks` has the
    group, `pieces` tells where the global batch stands."""

    def __init__(self, model, ranks, pieces):
        self._ranks, self._pieces = ranks, pieces
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._buckets = Buckets(self._parameters, _Bucket)
        self._accumulators = []  # kept, or the hooks on them are gone
        self._weight = 1.0
        self._count = None  # what this rank's pieces count, where the script says it
        self._part = 0.0  # of the global batch that this rank's pieces are
        self._measures, self._squares = False, None
        self._done = True  # the global batch is summed up
        self._backward = False  # one runs, of the last piece
        for parameter in self._parameters:
            parameter.register_hook(self._weigh)
            self._accumulators.append(when_accumulated(parameter, self._accumulated))

    def begin(self, weight):
        """The next piece is `weight` of the global batch."""
        if self._done:
            self._count, self._part = None, 0.0
        self._weight, self._done = weight, False
        self._part += weight
        self._buckets.begin()

    def count(self, count):
        """The piece counts so much, and the mean is over what all pieces count: every rank says it of every piece."""
        self._weight = count
        self._count = (self._count or 0.0) + count

    def finish(self):
        """All pieces have been differentiated. Nothing more where backward() did it already, or where the group failed."""
        if self._done:
            return
        self._done, self._backward = True, False
        try:
            if not self._pieces.error:
                self._sum_up()
        except GroupError as error:
            self._pieces.suffer(error)

    def drop(self):
        """What was computed of the global batch doesn't count."""
        self._done, self._backward = True, False
        for parameter in self._parameters:
            parameter.grad = None

    def _sum_up(self):
        if self._ranks.group.size > 1:
            self._buckets.launch(self._ranks.group, of_all=True)
            self._buckets.receive()
            if self._measures and self._count is None:
                self._take_measure()
        if self._count is not None:
            whole = whole_count(self._ranks.group, self._count)
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(whole)

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
        sent = sum(bucket.square for bucket in self._buckets)
        mean = torch.tensor([sent / self._part if self._part else 0.0], dtype=torch.float64)
        self._ranks.group.all_reduce(mean, SUM)
        whole = sum(float(each.grad.double().square().sum()) for each in self._parameters if each.grad is not None)
        self._squares = mean.item(), whole

    def _weigh(self, gradient):
        if self._pieces.between:
            return gradient  # of something else than a batch
        self._pieces.dirty = True
        return gradient if self._weight == 1.0 else gradient * self._weight

    def _accumulated(self, parameter):
        if self._pieces.between or not self._pieces.last or self._pieces.error or self._ranks.group.size == 1:
            return
        if self._done:
            raise PacelineError(RAN_AGAIN)
        if not self._backward:
            self._backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self.finish)
        self._buckets.complete(parameter)
        try:
            self._buckets.launch(self._ranks.group)
        except GroupError as error:
            self._pieces.suffer(error)


def whole_count(group, count):
    """What the pieces of all ranks count. Raises PacelineError where that is nothing."""
    whole = torch.tensor([count], dtype=torch.float64)
    group.all_reduce(whole, SUM)
    if not whole > 0:
        raise PacelineError("job.weight() was 0 for the whole global batch: its mean would be of nothing")
    return whole.item()


class _Bucket(Bucket):
    """After its gradients travels how many ranks have each of them."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.measures, self.square = False, 0.0  # whether, and |.|^2 of what was sent
        self._sizes = [each.numel() for each in parameters]
        self._flat = torch.zeros(sum(self._sizes) + len(parameters), dtype=parameters[0].dtype)

    def send(self, group):
        parts = [*self._flat.split(self._sizes + [len(self.parameters)])]
        for parameter, part in zip(self.parameters, parts):
            if parameter.grad is None:
                part.zero_()
            else:
                part.copy_(parameter.grad.reshape(-1))
        if self.measures:
            self.square = float(self._flat[:-len(self.parameters)].double().square().sum())
        parts[-1].copy_(torch.tensor([float(p.grad is not None) for p in self.parameters]))
        self.wait = group.start_all_reduce(self._flat, SUM)

    def receive(self):
        self.wait()
        *parts, counts = self._flat.split(self._sizes + [len(self.parameters)])
        for parameter, part, ranks in zip(self.parameters, parts, counts.tolist()):
            if ranks == 0:
                continue  # unused on every rank, as on one device
            if parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            parameter.grad.copy_(part.view_as(parameter.grad))
