"""The exact mode: the same bits on any number of ranks, and through any resizes.

A global batch is computed in micro-batches of a fixed size, whatever the number of ranks; each rank computes
a run of them. What depends on chance belongs to the micro-batch or the sample, not to the rank. Gradients,
and what batch norm notes of each micro-batch, are summed up one after the other in the order of
micro-batches: from rank to rank, and from the last one to all.

It costs the memory of the gradients of all micro-batches of a rank, and the time in which the sum goes
from rank to rank.
"""

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from paceline.errors import GroupError, PacelineError
from paceline.gradients import RAN_AGAIN, Trained, weighed, whole_count


class InTurn:
    """Sums tensors of micro-batches in their order, over all ranks."""

    def __init__(self, ranks):
        self._ranks = ranks
        self._parts = []

    def add(self, flat):
        self._parts.append(flat)

    def total(self, start, fold):
        """`fold(total, part)` changes the total by one part after the other, from `start` on."""
        group, total = self._ranks.group, start.clone()
        if group.rank > 0:
            group.receive(total, group.rank - 1)
        for part in self._parts:
            fold(total, part)
        self.drop()
        if group.size > 1:
            if group.rank + 1 < group.size:
                group.send(total, group.rank + 1)
            group.broadcast(total, group.size - 1)
        return total


    def drop(self):
        self._parts.clear()


class ExactGradients:
    """What Gradients does, in the order of micro-batches."""

    def __init__(self, model, ranks, pieces, sums, summed=()):
        self._pieces, self._weight = pieces, 1.0
        self._ranks, self._sum, self._sums = ranks, InTurn(ranks), sums
        self._count = None  # what this rank's micro-batches count, where the script says it
        self._norms = [_Norm(each, ranks) for each in model.modules()
                       if isinstance(each, _BatchNorm) and each.track_running_stats]
        self._open = False  # a micro-batch is being computed
        self._awaited = False  # the end of its backward()
        self.done = True
        self._trained = Trained(model, lambda parameter: parameter.register_hook(self._note), summed)
        self.renew()

    @property
    def _parameters(self):
        return self._trained.parameters

    def renew(self):
        self._trained.renew()
        self._sizes = [each.numel() for each in self._parameters]

    @property
    def summed(self):
        return self._parameters

    def check(self):
        self._trained.check()

    def begin(self, weight):
        self._close()
        if self.done and self._trained.grew():
            self.renew()
        self.done = False
        self._weight, self._open = weight, True
        self._counts = weight > 0
        for norm in self._norms:
            norm.begin()

    def count(self, count):
        self._weight = count
        self._count = (self._count or 0.0) + count

    def finish(self):
        self.done = True
        self._close()
        try:
            if not self._pieces.error:
                with self._ranks.timeline.span("gradients"):
                    self._sum_up()
        except GroupError as error:
            self._pieces.suffer(error)

    def drop(self):
        self._open = self._awaited = False
        self.done, self._count = True, None
        self._sum.drop()
        for parameter in self._parameters:
            parameter.grad = None
        for norm in self._norms:
            norm.drop()

    def _sum_up(self):
        if self._parameters:
            self._sum_gradients()
        self._count = None
        for norm in self._norms:
            norm.finish()

    def _sum_gradients(self):
        # Of each parameter its gradients, and after all of them how many micro-batches gave it one.
        zeros = torch.zeros(sum(self._sizes) + len(self._sizes), dtype=torch.promote_types(
            torch.float32, self._parameters[0].dtype))
        total = self._sum.total(zeros, lambda sum_up, part: sum_up.add_(part))
        *parts, counts = total.split([*self._sizes, len(self._sizes)])
        if self._count is not None:
            total[:-len(self._sizes)].div_(whole_count(self._ranks.group, self._count))
        for parameter, part, count in zip(self._parameters, parts, counts.tolist()):
            parameter.grad = part.view_as(parameter).to(parameter).clone() if count else None

    def _note(self, gradient):
        if self._pieces.between:
            return gradient
        if not self._open:
            raise PacelineError(RAN_AGAIN)
        if self._pieces.last:
            self._sums.is_due(self)
        elif not self._awaited:
            self._awaited = True
            torch.autograd.Variable._execution_engine.queue_callback(self._close)
        return gradient

    # Takes the gradients of the micro-batch that was computed last.
    def _close(self):
        if not self._open:
            return
        self._open = self._awaited = False
        if self._counts and self._parameters:
            has = torch.tensor([float(each.grad is not None) for each in self._parameters])
            flat = [each.new_zeros(size) if each.grad is None else each.grad.detach().reshape(-1)
                    for each, size in zip(self._parameters, self._sizes)]
            whole = torch.cat([each.to(flat[0].device) for each in flat]).cpu()
            self._sum.add(torch.cat([weighed(whole, self._weight), has]))
        for parameter in self._parameters:
            parameter.grad = None
        for norm in self._norms:
            norm.close(self._counts)


class _Norm:
    """A batch norm whose running statistics come in the order of micro-batches: with a momentum of 1 it
    notes what each has, which is then averaged in as the module would."""

    def __init__(self, module, ranks):
        self._module, self._sum = module, InTurn(ranks)
        self._momentum = module.momentum
        self._running = None

    def begin(self):
        module = self._module
        if self._running is None:
            self._running = torch.cat([module.running_mean, module.running_var]).cpu()
            self._tracked = module.num_batches_tracked.cpu().clone()
        module.momentum = 1.0
        self._before = module.num_batches_tracked.clone()

    def close(self, counts):
        module = self._module
        if counts and module.num_batches_tracked > self._before:
            self._sum.add(torch.cat([module.running_mean, module.running_var]).cpu())

    def finish(self):
        module, momentum = self._module, self._momentum
        start = torch.cat([self._running, self._tracked.to(self._running).reshape(1)])

        def average(total, part):
            total[-1] += 1
            share = 1.0 / total[-1] if momentum is None else momentum
            total[:-1].mul_(1.0 - share).add_(part * share)

        total = self._sum.total(start, average)
        mean, variance, tracked = total.split([len(module.running_mean), len(module.running_var), 1])
        module.running_mean.copy_(mean)
        module.running_var.copy_(variance)
        module.num_batches_tracked.fill_(int(tracked.item()))
        module.momentum, self._running = momentum, None

    def drop(self):
        """Its running statistics are put back with the model's other buffers."""
        self._sum.drop()
        self._module.momentum, self._running = self._momentum, None
