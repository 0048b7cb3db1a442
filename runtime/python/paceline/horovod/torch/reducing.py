"""allreduce() in its forms: of one tensor or several, in place or not, at once or with a handle."""

from dataclasses import dataclass

import torch

from paceline.group import TYPES, type_name
from paceline.horovod.torch.compression import Compression, named
from paceline.horovod.torch.handle import Handle, synchronize
from paceline.horovod.torch.operators import Average, Sum, chosen, group_op
from paceline.horovod.torch.turns import Call, described
from paceline.horovod.torch.world import check_all_ranks, global_process_set, world


@dataclass
class Manner:
    """How tensors are reduced: times `before`, by `op`, times `after`."""
    op: object = Average
    before: float = 1.0
    after: float = 1.0
    compression: object = Compression.none

    def check(self, tensors):
        """Raises ValueError where tensors can't be reduced in this manner."""
        group_op(self.op)
        named(self.compression)
        for tensor in tensors:
            if not torch.is_tensor(tensor):
                raise ValueError(f"a {type(tensor).__name__} can't be reduced: pass torch.tensor(value), or use "
                                 "allgather_object()")
            if tensor.layout != torch.strided:
                raise ValueError("a sparse tensor can't be reduced: pass tensor.to_dense()")
            if (self.before, self.after) != (1.0, 1.0) and not tensor.is_floating_point():
                raise ValueError(f"prescale_factor and postscale_factor are for numbers of floating point, not for "
                                 f"{type_name(tensor)}")


class Parcel:
    """Tensors as they travel, those of one type in one room."""

    def __init__(self, tensors, manner):
        self._tensors, self._manner = tensors, manner
        packed = [manner.compression.compress(each.detach()) for each in tensors]
        self._contexts = [context for _, context in packed]
        self.parts = [part for part, _ in packed]
        for part in self.parts:
            if type_name(part) not in TYPES:
                raise ValueError(f"tensors of type {type_name(part)} can't be reduced: convert them to one of "
                                 f"{', '.join(TYPES)}")
        of_type = {}
        for part in self.parts:
            of_type.setdefault(part.dtype, []).append(part.reshape(-1).cpu())
        self._rooms = {dtype: torch.cat(parts) for dtype, parts in of_type.items()}
        if manner.before != 1.0:
            for room in self._rooms.values():
                room.mul_(manner.before)

    def send(self, group):
        """Returns a function that waits until all have arrived."""
        op = group_op(self._manner.op)
        waits = [group.start_all_reduce(room, op) for room in self._rooms.values()]
        return lambda: [wait() for wait in waits]

    def unpacked(self):
        """The reduced tensors, in their order."""
        places, results = dict.fromkeys(self._rooms, 0), []
        for tensor, part, context in zip(self._tensors, self.parts, self._contexts):
            start = places[part.dtype]
            places[part.dtype] = start + part.numel()
            reduced = self._rooms[part.dtype][start:start + part.numel()].view(part.shape)
            result = self._manner.compression.decompress(reduced, context).to(tensor.device)
            results.append(result if self._manner.after == 1.0 else result * self._manner.after)
        return results


def _start(tensors, name, manner, place):
    """`place(results)`: what the handle returns of them."""
    here = world()
    manner.check(tensors)
    parcel = Parcel(tensors, manner)
    options = {"op": manner.op.name, "group_op": group_op(manner.op)}
    here.turns.announce(Call("allreduce", name, options, described(parcel.parts)))
    if here.size == 1:
        return Handle(lambda: place(parcel.unpacked()))
    wait = parcel.send(here.group)

    def finish():
        wait()
        return place(parcel.unpacked())

    return Handle(finish)


def _into(tensors):
    def place(results):
        with torch.no_grad():
            for tensor, result in zip(tensors, results):
                tensor.copy_(result)
        return tensors

    return place


class _Reduced(torch.autograd.Function):
    """Whose gradients are reduced in the same manner."""

    @staticmethod
    def forward(context, name, manner, *tensors):
        context.manner = manner
        reduced = synchronize(_start(tensors, name, manner, list))
        return tuple(each.clone() for each in reduced)  # no views of one room

    @staticmethod
    def backward(context, *gradients):
        if context.manner.op not in (Average, Sum):
            raise ValueError(f"op={context.manner.op.name} has no gradient here: detach() the tensor before")
        return (None, None, *synchronize(_start(gradients, None, context.manner, list)))


# ---- at once ----

def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
              postscale_factor=1.0, process_set=global_process_set):
    """What all ranks' tensors come to; the average where `op` says nothing else. Gradients flow through it."""
    return grouped_allreduce([tensor], average, name, compression, op, prescale_factor, postscale_factor, process_set)[0]


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
                      postscale_factor=1.0, process_set=global_process_set):
    check_all_ranks(process_set)
    manner = Manner(chosen(average, op), prescale_factor, postscale_factor, compression)
    manner.check(tensors)
    return list(_Reduced.apply(name, manner, *tensors)) if tensors else []


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
               process_set=global_process_set):
    """In place."""
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                       process_set=global_process_set):
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set))


# ---- with a handle ----

def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                    process_set=global_process_set):
    """Returns a handle once all ranks have made the call."""
    check_all_ranks(process_set)
    return _start([tensor], name, Manner(chosen(average, op), prescale_factor, postscale_factor), lambda all_: all_[0])


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                            process_set=global_process_set):
    check_all_ranks(process_set)
    return _start(tensors, name, Manner(chosen(average, op), prescale_factor, postscale_factor), list)


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                     process_set=global_process_set):
    check_all_ranks(process_set)
    place = _into([tensor])
    return _start([tensor], name, Manner(chosen(average, op), prescale_factor, postscale_factor),
                  lambda results: place(results)[0])


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                             process_set=global_process_set):
    check_all_ranks(process_set)
    return _start(tensors, name, Manner(chosen(average, op), prescale_factor, postscale_factor), _into(tensors))
