"""What ranks' tensors are reduced by."""

import enum

from paceline.group import MAX, MEAN, MIN, SUM


class ReduceOp(enum.Enum):
    Average = "Average"
    Sum = "Sum"
    Min = "Min"
    Max = "Max"
    Adasum = "Adasum"  # of these two only the names are there
    Product = "Product"


Average, Sum, Adasum, Min, Max, Product = (
    ReduceOp.Average, ReduceOp.Sum, ReduceOp.Adasum, ReduceOp.Min, ReduceOp.Max, ReduceOp.Product)
_OF_THE_GROUP = {Average: MEAN, Sum: SUM, Min: MIN, Max: MAX}
_NEAREST = {Adasum: "use op=Average, with a learning rate for the batch of all ranks",
            Product: "sum logarithms with op=Sum, or multiply what allgather() returns"}


def group_op(op):
    """What the group calls it. Raises ValueError for what can't be done."""
    if op in _OF_THE_GROUP:
        return _OF_THE_GROUP[op]
    if op in _NEAREST:
        raise ValueError(f"op={op.name} is not there: {_NEAREST[op]}")
    raise ValueError(f"op={op!r} is none of Average, Sum, Min and Max")


def chosen(average, op):
    """The op that a call asks for; `average` is how older scripts say it. Raises ValueError."""
    if average is not None and op is not None:
        raise ValueError("op= says what average= said in older scripts: pass one of them")
    if op is not None:
        return op
    return Sum if average is False else Average
