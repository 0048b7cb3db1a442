"""What ranks give each other: allgather(), broadcast() and alltoall(), and barrier()."""

import torch

from paceline import state
from paceline.horovod.torch.handle import Handle
from paceline.horovod.torch.operators import Average
from paceline.horovod.torch.reducing import allreduce
from paceline.horovod.torch.turns import Call, described
from paceline.horovod.torch.world import check_all_ranks, global_process_set, world


def check_tensor(tensor, function):
    """Raises ValueError for what is no dense tensor."""
    if not torch.is_tensor(tensor) or tensor.layout != torch.strided:
        kind = "sparse tensor" if torch.is_tensor(tensor) else type(tensor).__name__
        raise ValueError(f"{function}() takes a dense tensor, not a {kind}")


def check_root(root_rank):
    if not 0 <= root_rank < world().size:
        raise ValueError(f"root_rank={root_rank} is no rank: ranks go from 0 to {world().size - 1}")


def rows_free(tensor):
    """The shape in which ranks must agree where their numbers of rows may differ."""
    return ["*", *tensor.shape[1:]]


def _done(result):
    return Handle(lambda: result)


# ---- allgather ----

def _gather(tensor, name):
    """All ranks' rows one after the other, and how many each has."""
    check_tensor(tensor, "allgather")
    here = world()
    mine = tensor.detach().cpu().contiguous()
    mine = mine.reshape(1) if mine.dim() == 0 else mine
    here.turns.announce(Call("allgather", name, {}, described([mine], shape=rows_free)))
    if here.size == 1:
        return mine.clone().to(tensor.device), [len(mine)]
    counts = torch.zeros(here.size, dtype=torch.int64)
    here.group.all_gather(torch.tensor([len(mine)]), counts)
    counts = counts.tolist()
    longest = max(counts)
    padded = mine.new_zeros((longest, *mine.shape[1:]))
    padded[:len(mine)] = mine
    room = mine.new_zeros((here.size, *padded.shape))
    if room.numel():
        here.group.all_gather(padded, room)
    return torch.cat([part[:count] for part, count in zip(room, counts)]).to(tensor.device), counts


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, name):
        gathered, counts = _gather(tensor, name)
        rank = world().rank
        context.rows, context.shape = slice(sum(counts[:rank]), sum(counts[:rank + 1])), tensor.shape
        return gathered

    @staticmethod
    def backward(context, gradient):
        return allreduce(gradient, op=Average)[context.rows].reshape(context.shape), None


def allgather(tensor, name=None, process_set=global_process_set):
    """All ranks' tensors one after the other along the first dimension, in which they may differ."""
    check_all_ranks(process_set)
    check_tensor(tensor, "allgather")
    return _Gathered.apply(tensor, name)


def allgather_async(tensor, name=None, process_set=global_process_set):
    check_all_ranks(process_set)
    return _done(_gather(tensor, name)[0])


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    return [allgather(each, name, process_set) for each in tensors]


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    check_all_ranks(process_set)
    return _done([_gather(each, name)[0] for each in tensors])


# ---- broadcast ----

def _share(tensor, root_rank, name):
    check_tensor(tensor, "broadcast")
    check_root(root_rank)
    here = world()
    here.turns.announce(Call("broadcast", name, {"root_rank": root_rank}, described([tensor])))
    if here.size > 1 and tensor.numel():
        state.share_tensor(here.group, tensor, root_rank)
    return tensor


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, root_rank, name):
        context.root_rank = root_rank
        return _share(tensor.detach().clone(), root_rank, name)

    @staticmethod
    def backward(context, gradient):
        reduced = allreduce(gradient, op=Average)
        return (reduced if world().rank == context.root_rank else torch.zeros_like(reduced)), None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """Rank `root_rank`'s tensor."""
    check_all_ranks(process_set)
    check_tensor(tensor, "broadcast")
    return _Shared.apply(tensor, root_rank, name)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """In place."""
    check_all_ranks(process_set)
    return _share(tensor, root_rank, name)


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    check_all_ranks(process_set)
    check_tensor(tensor, "broadcast")
    return _done(_share(tensor.detach().clone(), root_rank, name))


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    return _done(broadcast_(tensor, root_rank, name, process_set))


# ---- alltoall ----

def _checked_splits(tensor, splits, size):
    if splits is None:
        if len(tensor) % size:
            raise ValueError(f"alltoall() can't split {len(tensor)} rows evenly over {size} ranks: pass splits=")
        return [len(tensor) // size] * size
    counts = [int(each) for each in splits]
    if len(counts) != size or min(counts) < 0 or sum(counts) != len(tensor):
        raise ValueError(f"splits={counts} must be {size} numbers of rows that add up to {len(tensor)}")
    return counts


def _exchange(tensor, splits, name):
    """The rows that the ranks have for this one, and how many from each."""
    check_tensor(tensor, "alltoall")
    if tensor.dim() == 0:
        raise ValueError("alltoall() takes a tensor with rows, not a single number")
    here = world()
    mine = tensor.detach().cpu().contiguous()
    counts = _checked_splits(mine, splits, here.size)
    here.turns.announce(Call("alltoall", name, {}, described([mine], shape=rows_free)))
    if here.size == 1:
        return mine.clone().to(tensor.device), torch.tensor(counts)
    table = torch.zeros((here.size, here.size), dtype=torch.int64)
    here.group.all_gather(torch.tensor(counts), table)
    received = table[:, here.rank].tolist()
    outgoing = mine.split(counts)
    incoming = [mine.new_zeros((count, *mine.shape[1:])) for count in received]
    incoming[here.rank] = outgoing[here.rank]
    # Each pair in turn, the lower rank first: the order is one for all, so none waits in a circle.
    for low in range(here.size):
        for high in range(low + 1, here.size):
            if here.rank in (low, high):
                _swap(here.group, high if here.rank == low else low, outgoing, incoming)
    return torch.cat(incoming).to(tensor.device), torch.tensor(received)


def _swap(group, other, outgoing, incoming):
    for sends in ((True, False) if group.rank < other else (False, True)):
        if sends and outgoing[other].numel():
            group.send(outgoing[other], other)
        elif not sends and incoming[other].numel():
            group.receive(incoming[other], other)


class _Exchanged(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, splits, name):
        rows, received = _exchange(tensor, splits, name)
        context.received = received
        context.mark_non_differentiable(received)
        return rows, received

    @staticmethod
    def backward(context, gradient, _):
        return _exchange(gradient, context.received, None)[0], None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Each rank's rows for this one, in the order of ranks. `splits`: how many rows go to each rank; with it a pair is
    returned, the rows and how many came from each."""
    check_all_ranks(process_set)
    check_tensor(tensor, "alltoall")
    rows, received = _Exchanged.apply(tensor, splits, name)
    return rows if splits is None else (rows, received)


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    check_all_ranks(process_set)
    rows, received = _exchange(tensor, splits, name)
    return _done(rows if splits is None else (rows, received))


def barrier(process_set=global_process_set):
    """Returns once every rank has called it."""
    check_all_ranks(process_set)
    world().turns.announce(Call("barrier"))
    world().group.barrier()

