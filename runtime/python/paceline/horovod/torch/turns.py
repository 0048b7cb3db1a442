"""Every rank says what it is about to do before it does it.

So ranks that make different calls are told so, instead of reducing one thing with another; and a rank that has
joined learns what the others do, and adds zeros. It costs one small reduction for each call, and for each step of an
optimizer one that runs beside backward.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field

import torch

from paceline import state
from paceline.errors import GroupError
from paceline.group import MAX, type_name

CODE, MINUS_CODE, JOINED, FIRST = range(4)  # what ranks exchange; each word becomes the greatest of all
NOTHING = -(1 << 62)
STEPS = 1 << 20  # codes below are the numbers of optimizers, of which a step begins
ADDS_ZEROS = {"allreduce", "DistributedOptimizer", "barrier"}
MIXED = ("Some ranks reduce the gradients of an optimizer while others make another call: make every call on all ranks, "
         "before backward() or after optimizer.step()")


@dataclass
class Call:
    """`tensors`: [name, shape, type] of each."""
    function: str
    name: str = None
    options: dict = field(default_factory=dict)
    tensors: list = field(default_factory=list)

    def packed(self):
        return json.dumps(vars(self)).encode()

    def code(self):
        digest = int.from_bytes(hashlib.sha256(self.packed()).digest()[:7], "little")
        return STEPS + digest

    def __str__(self):
        options = [f"{name}={value}" for name, value in self.options.items()]
        named = [f"name={self.name!r}"] if self.name else []
        of = ", ".join(f"{'x'.join(map(str, shape)) or 'scalar'} {kind}" for _, shape, kind in self.tensors[:3])
        more = f" and {len(self.tensors) - 3} more" if len(self.tensors) > 3 else ""
        return f"{self.function}({', '.join(named + options)})" + (f" of {of}{more}" if of else "")


def described(tensors, names=None, shape=lambda tensor: list(tensor.shape)):
    """What Call.tensors says of them."""
    return [[name, shape(tensor), type_name(tensor)]
            for name, tensor in zip(names or [None] * len(tensors), tensors)]


class _Seen:
    """What all ranks are about to do."""

    def __init__(self, words, size):
        greatest, minus_least, joined, first = words.tolist()
        self.code, self.differ = greatest, greatest != -minus_least
        self.steps = -minus_least < STEPS
        self.joined = joined == 1
        self.first = None if first == NOTHING else size - first  # that has not joined


class Turns:
    """REQUIRES: every rank announces the same, in the same order, until it joins."""

    def __init__(self, group):
        self._group = group
        self._steppers = []
        self._count = 0

    def add(self, stepper):
        """Returns its number; `stepper.add_zeros()` takes part in a step without a batch."""
        self._steppers.append(stepper)
        return len(self._steppers) - 1

    def announce(self, call):
        """Returns once all ranks are about to make this call. Raises ValueError, on every rank, where they are not."""
        if self._group.size == 1:
            return
        seen = self._take(call.code())
        if seen.differ:
            self._tell_apart(call.packed(), seen)
        if seen.joined:
            self._group.broadcast_bytes(call.packed(), seen.first)
            self._check_zeros_do(call)

    def begin_step(self, number):
        """Says so without waiting. Returns a function that waits, and raises ValueError where others do something else."""
        words = self._words(number)
        wait = self._group.start_all_reduce(words, MAX)

        def check():
            if self._seen(words, wait).differ:
                raise ValueError(MIXED)

        return check

    def join(self):
        """Adds zeros to what the others do until all have joined. Returns the rank that joined last."""
        group, since = self._group, self._count
        if group.size == 1:
            return 0
        while (seen := self._take(None)).first is not None:
            if seen.differ:
                self._tell_apart(b"", seen)
            elif seen.steps:
                self._steppers[seen.code].add_zeros()
            else:
                self._add_zeros(Call(**json.loads(group.broadcast_bytes(b"", seen.first))))
        last = torch.tensor([since * group.size + group.rank])
        group.all_reduce(last, MAX)
        return last.item() % group.size

    def _take(self, code):
        """What all are about to do; None: this rank has joined."""
        words = self._words(code)
        return self._seen(words, lambda: self._group.all_reduce(words, MAX))

    def _words(self, code):
        self._count += 1
        words = torch.full((4,), NOTHING)
        if code is None:
            words[JOINED] = 1
        else:
            words[CODE], words[MINUS_CODE], words[FIRST] = code, -code, self._group.size - self._group.rank
        return words

    def _seen(self, words, reduce):
        try:
            reduce()
        except GroupError as error:
            if error.cause == "mismatch":  # in the words of buckets and turns
                raise GroupError(f"{MIXED}. {error}", error.cause, error.rank) from error
            raise
        return _Seen(words, self._group.size)

    def _add_zeros(self, call):
        self._check_zeros_do(call)
        if call.function == "barrier":
            self._group.barrier()
        counts = {}
        for _, shape, kind in call.tensors if call.function == "allreduce" else []:
            counts[kind] = counts.get(kind, 0) + math.prod(shape)
        for kind, count in counts.items():
            self._group.start_all_reduce(torch.zeros(count, dtype=getattr(torch, kind)), call.options["group_op"])()

    def _check_zeros_do(self, call):
        if call.function not in ADDS_ZEROS:
            raise ValueError(f"{call.function}() needs something from every rank, and some have joined: call it when "
                             "join() has returned on all")

    def _tell_apart(self, mine, seen):
        if seen.steps:  # a rank that is in a step does not come here
            self._group.abort(MIXED)
            raise ValueError(MIXED)
        everyones = [Call(**json.loads(each)) if each else None for each in self._group.all_gather_bytes(mine)]
        active = [rank for rank, each in enumerate(everyones) if each]
        first = everyones[active[0]]
        rank = next(each for each in active if everyones[each] != first)
        raise ValueError(_difference(first, active[0], everyones[rank], rank))


def _difference(first, rank, other, other_rank):
    if first.function == other.function and first.tensors != other.tensors and first.tensors and first.tensors[0][0]:
        return state.difference(first.tensors, other.tensors, other_rank, rank)
    return (f"Rank {rank} calls {first}, rank {other_rank} calls {other}: every rank makes the same calls in the same "
            "order, with tensors of the same shape and type")
