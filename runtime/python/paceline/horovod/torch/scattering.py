"""reducescatter(): each rank has its rows of what the tensors of all come to."""

import torch

from paceline.horovod.torch.compression import Compression
from paceline.horovod.torch.handle import Handle
from paceline.horovod.torch.moving import allgather, check_tensor
from paceline.horovod.torch.operators import Average, Sum
from paceline.horovod.torch.reducing import Manner, Parcel
from paceline.horovod.torch.turns import Call, described
from paceline.horovod.torch.world import check_all_ranks, global_process_set, world
from paceline.order import share


def _rows(count, rank, size):
    """Those of a rank; the first ranks have one more where it doesn't go even."""
    flipped = share(count, size - 1 - rank, size)
    return slice(count - flipped.stop, count - flipped.start)


def _scatter(tensor, name, manner):
    check_tensor(tensor, "reducescatter")
    if tensor.dim() == 0:
        raise ValueError("reducescatter() takes a tensor with rows, not a single number")
    if manner.op not in (Average, Sum):
        raise ValueError("reducescatter() takes op=Average or op=Sum")
    manner.check([tensor])
    here = world()
    parcel = Parcel([tensor], manner)
    here.turns.announce(Call("reducescatter", name, {"op": manner.op.name}, described(parcel.parts)))
    if here.size > 1:
        parcel.send(here.group)()
    return parcel.unpacked()[0][_rows(len(tensor), here.rank, here.size)].clone()


class _Scattered(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, name, manner):
        context.manner = manner
        return _scatter(tensor, name, manner)

    @staticmethod
    def backward(context, gradient):
        manner = context.manner
        factor = manner.before * manner.after * (world().size if manner.op is Sum else 1)
        return allgather(gradient) * factor, None, None


def reducescatter(tensor, name=None, compression=Compression.none, op=Average, process_set=global_process_set,
                  prescale_factor=1.0, postscale_factor=1.0):
    """This rank's rows of the average or sum: the first ranks have one row more where it doesn't go even."""
    check_all_ranks(process_set)
    check_tensor(tensor, "reducescatter")
    return _Scattered.apply(tensor, name, Manner(op, prescale_factor, postscale_factor, compression))


def reducescatter_async(tensor, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0,
                        postscale_factor=1.0):
    check_all_ranks(process_set)
    rows = _scatter(tensor, name, Manner(op, prescale_factor, postscale_factor))
    return Handle(lambda: rows)


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average, process_set=global_process_set,
                          prescale_factor=1.0, postscale_factor=1.0):
    return [reducescatter(each, name, compression, op, process_set, prescale_factor, postscale_factor)
            for each in tensors]


def grouped_reducescatter_async(tensors, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0,
                                postscale_factor=1.0):
    check_all_ranks(process_set)
    manner = Manner(op, prescale_factor, postscale_factor)
    rows = [_scatter(each, name, manner) for each in tensors]
    return Handle(lambda: rows)
