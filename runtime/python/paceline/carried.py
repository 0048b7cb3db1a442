"""Optimizers, schedulers and scalers of gradients that act once per global batch, however many pieces it is computed in.

They stay the same objects.
"""

import contextlib
import functools
import inspect
import types

import torch

from paceline.errors import PacelineError

MENDABLE = ("lost", "left", "aborted", "timed out")  # causes that other ranks than this one may be
SEVERAL_TIMES = ("{} evaluates its closure several times, and only once are gradients summed over the pieces and ranks of a global "
                 "batch: train with it on one rank, in one piece (--slots 1, without max_local= and micro=), or with another "
                 "optimizer.")


class Pieces:
    """Where the global batch stands; set by what hands out its pieces.

    `goes_on`: where the group fails, the ranks that are left go on together in the next one.
    """

    def __init__(self, goes_on=False):
        self.goes_on = goes_on
        self.between = True  # none is under way: what is carried acts as ever
        self.last = True  # the piece under way is this rank's last
        self.whole = True  # it is the whole global batch
        self.updates = 0  # of optimizers, in the global batch under way
        self.void = False  # nothing of the last one counts, until the next begins
        self.error = None  # the group's, until there is another group
        self.rate_factor = 1.0  # that learning rates are multiplied by while an optimizer steps

    def begin(self):
        """A global batch is under way."""
        self.between = self.void = False
        self.updates = 0

    @contextlib.contextmanager
    def as_between(self, name):
        """Gradients are this process's own, and may come several times, for the optimizer of that name. Raises PacelineError
        where that isn't all of the global batch."""
        if not self.whole:
            raise PacelineError(SEVERAL_TIMES.format(name))
        self.between = True
        try:
            yield
        finally:
            self.between = False

    def suffer(self, error):
        """The group failed. Raises the error where that ends the training."""
        if not self.goes_on or error.cause not in MENDABLE:
            raise error
        self.error = self.error or error


def carry_optimizer(optimizer, pieces, before_step):
    """Lets it act with the last piece, after `before_step()`. Where the group fails before, it does nothing.

    A closure is evaluated once for each piece, before that; as often as the optimizer wants where the whole global batch is in
    the piece. Else step() raises PacelineError of an optimizer that has to evaluate it several times, as LBFGS does."""
    step, needs_closure = optimizer.step, _needs_closure(optimizer)

    def update(*given, **options):
        pieces.updates += 1
        with _rates_times(optimizer, pieces.rate_factor):
            return step(*given, **options)

    @functools.wraps(step)  # with what schedulers have noted on it
    def step_once(_, closure=None, **options):
        given = [closure] if closure else []
        if pieces.void:
            return None
        if pieces.between:
            return step(*given, **options)
        if closure and needs_closure:
            with pieces.as_between(type(optimizer).__name__):
                return update(*given, **options)
        loss = _evaluated(closure) if closure else None
        if not pieces.last:
            return loss
        before_step()
        if pieces.error:
            return loss
        own = update(**options)
        return loss if closure else own

    # A bound method, since schedulers that are made later wrap only such.
    optimizer.step = types.MethodType(step_once, optimizer)


def _needs_closure(optimizer):
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is closure.empty


def _evaluated(closure):
    with torch.enable_grad():
        return closure()


def has_scheduler(optimizer):
    """PyTorch's note on step() that they count its calls (1.13, 2.x)."""
    return hasattr(optimizer.step, "_with_counter") or hasattr(optimizer.step, "_wrapped_by_lr_sched")


def is_scheduler(thing):
    return hasattr(thing, "step") and hasattr(thing, "optimizer")


@contextlib.contextmanager
def _rates_times(optimizer, factor):
    """Schedulers and checkpoints see the script's own rates all the time."""
    if factor == 1.0:
        yield
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    try:
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * factor
        yield
    finally:
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate


def carry_scheduler(scheduler, pieces):
    """Lets it act with the last piece."""
    own = type(scheduler)

    def step(self, *arguments, **options):
        if not (pieces.void or pieces.error) and (pieces.between or pieces.last):
            return own.step(self, *arguments, **options)
        return None

    # Not on the object: all that lies there is in its state_dict().
    scheduler.__class__ = type(own.__name__, (own,), {"step": step, "__module__": own.__module__})


def is_scaler(thing):
    """AMP's GradScaler, of torch.cuda.amp or torch.amp."""
    return all(hasattr(thing, each) for each in ("unscale_", "step", "update", "get_scale"))


def carry_scaler(scaler, pieces, before):
    """Lets it act with the last piece, on gradients that all ranks have summed: `before(optimizer)` sees to that. Where the
    group fails before, it does nothing."""
    own = type(scaler)

    def acts(optimizer=None):
        if pieces.between or not pieces.last:
            return pieces.between and not pieces.void
        if optimizer is not None:
            before(optimizer)
        return not pieces.error

    def unscale_(self, optimizer):
        if acts(optimizer):
            own.unscale_(self, optimizer)

    def step(self, optimizer, *arguments, **options):
        return own.step(self, optimizer, *arguments, **options) if acts(optimizer) else None

    def update(self, *arguments, **options):
        if acts():
            own.update(self, *arguments, **options)

    scaler.__class__ = type(own.__name__, (own,), {"unscale_": unscale_, "step": step, "update": update,
                                                   "__module__": own.__module__})
