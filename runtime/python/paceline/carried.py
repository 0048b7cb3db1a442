"""Optimizers and schedulers that act once per global batch, however many pieces it is computed in.

They stay the same objects.
"""

import functools


class Pieces:
    """Where the global batch stands; set by who hands out its pieces."""

    def __init__(self):
        self.between = True  # none is under way: what is carried acts as ever
        self.last = True  # the piece under way is this rank's last
        self.dirty = False  # gradients of pieces lie in .grad that no step has used


def carry_optimizer(optimizer, pieces, before_step):
    """Lets it act with the last piece, after `before_step()`, and never lose a piece's gradients."""
    step, zero_grad = optimizer.step, optimizer.zero_grad

    @functools.wraps(step)  # with what schedulers have noted on it
    def step_once(*arguments, **options):
        if not pieces.between:
            if not pieces.last:
                return None
            before_step()
        result = step(*arguments, **options)
        pieces.dirty = False
        return result

    @functools.wraps(zero_grad)
    def zero_once(*arguments, **options):
        if pieces.between or not pieces.dirty:
            zero_grad(*arguments, **options)

    optimizer.step, optimizer.zero_grad = step_once, zero_once


def carry_scheduler(scheduler, pieces):
    """Lets it act with the last piece."""
    own = type(scheduler)

    def step(self, *arguments, **options):
        if pieces.between or pieces.last:
            return own.step(self, *arguments, **options)
        return None

    # Not on the object: all that lies there is in its state_dict().
    scheduler.__class__ = type(own.__name__, (own,), {"step": step, "__module__": own.__module__})
