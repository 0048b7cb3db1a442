"""DistributedOptimizer(): an optimizer whose gradients are reduced over the ranks while backward runs."""

import contextlib
import warnings
from collections import Counter

from paceline.horovod.torch.compression import Compression
from paceline.horovod.torch.operators import Average
from paceline.horovod.torch.reducing import Manner
from paceline.horovod.torch.stepping import Stepping
from paceline.horovod.torch.world import check_all_ranks, global_process_set, world


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none, backward_passes_per_step=1,
                         op=Average, gradient_predivide_factor=1.0, num_groups=0, groups=None, sparse_as_dense=False,
                         process_set=global_process_set):
    """The optimizer again, of the same class and with the same state; step() waits for the gradients of all ranks.

    `backward_passes_per_step`: so many calls of backward() are added up before gradients travel.
    `gradient_predivide_factor`: averages are divided by it before they are summed up, and by the rest after.
    `num_groups`, `groups`: nothing; gradients travel in buckets of 4 MiB.
    Parameters without a gradient on this rank count as zeros, and have a gradient afterwards. Raises ValueError.
    """
    check_all_ranks(process_set)
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("gradient_predivide_factor is for op=Average: leave one of them out")
    if backward_passes_per_step < 1:
        raise ValueError(f"backward_passes_per_step={backward_passes_per_step} must be 1 or more")
    named = _named(optimizer, named_parameters)
    manner = Manner(op, 1 / gradient_predivide_factor, gradient_predivide_factor, compression)
    manner.check([])
    kind = type(optimizer)
    distributed = object.__new__(type(kind.__name__, (_Distributed, kind), {"__module__": kind.__module__}))
    # Schedulers lay a step() of their own over the one that they were made with.
    distributed.__dict__.update({name: value for name, value in vars(optimizer).items() if name != "step"})
    distributed._stepping = Stepping(world(), named, manner, backward_passes_per_step, sparse_as_dense)
    distributed._synchronized, distributed._synchronizes = False, True
    return distributed


class _Distributed:
    """What is laid over the optimizer's own class."""

    def synchronize(self):
        """Returns once gradients are those of all ranks: to clip them, say, before a step() in skip_synchronize()."""
        self._stepping.finish()
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """For a step() after synchronize()."""
        self._synchronizes = False
        try:
            yield
        finally:
            self._synchronizes = True

    def set_backward_passes_per_step(self, passes):
        self._stepping.set_passes(passes)

    def step(self, closure=None):
        own = super().step
        if closure is not None:
            return own(lambda: self._computed(closure))
        if self._synchronizes:
            if self._synchronized:
                warnings.warn("optimizer.step() reduces gradients again that optimizer.synchronize() has reduced: call "
                              "it in `with optimizer.skip_synchronize():`", stacklevel=2)
            self.synchronize()
        self._synchronized = False
        return own()

    def _computed(self, closure):
        loss = closure()
        self._stepping.finish()
        return loss

    def zero_grad(self, *arguments, **options):
        if self._stepping.is_under_way:
            raise ValueError("optimizer.zero_grad() would change gradients that are on their way to the other ranks: "
                             "call it after optimizer.step() or optimizer.synchronize()")
        return super().zero_grad(*arguments, **options)

    def add_param_group(self, param_group):
        if hasattr(self, "_stepping"):
            raise ValueError("the new parameters would not be reduced: call add_param_group() before "
                             "DistributedOptimizer()")
        return super().add_param_group(param_group)


def _named(optimizer, named_parameters):
    """[(name, parameter)] of all that the optimizer changes by gradients, in its order. Raises ValueError."""
    if isinstance(optimizer, _Distributed):
        raise ValueError("the optimizer is a DistributedOptimizer already: pass the one inside")
    own = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    given = list(named_parameters) if named_parameters is not None else [
        (f"parameter {number}", parameter) for number, parameter in enumerate(own)]
    if not all(isinstance(each, tuple) and len(each) == 2 for each in given):
        raise ValueError("named_parameters takes pairs of a name and a parameter: pass model.named_parameters()")
    twice = sorted(name for name, count in Counter(name for name, _ in given).items() if count > 1)
    if twice:
        raise ValueError(f"named_parameters has {', '.join(twice)} more than once: give every parameter a name of its "
                         "own, with the model's in front where there are several models")
    name_of = {id(parameter): name for name, parameter in given}
    unnamed = sum(id(parameter) not in name_of for parameter in own)
    if unnamed:
        raise ValueError(f"{unnamed} of the optimizer's {len(own)} parameters are not in named_parameters: pass those "
                         "of all its models")
    learning = [(name_of[id(parameter)], parameter) for parameter in own if parameter.requires_grad]
    if not learning:
        raise ValueError("the optimizer has no parameter that requires a gradient: set requires_grad before "
                         "DistributedOptimizer()")
    return learning
