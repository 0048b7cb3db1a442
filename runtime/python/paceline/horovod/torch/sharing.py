"""What all ranks have alike: parameters, an optimizer's state, objects."""

import io
from collections import Counter

import torch

from paceline import state
from paceline.horovod.torch.moving import check_root
from paceline.horovod.torch.turns import Call, described
from paceline.horovod.torch.world import check_all_ranks, global_process_set, world


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Every rank's become `root_rank`'s, in place. `params`: a state_dict(), or pairs as of named_parameters().
    Raises ValueError."""
    check_all_ranks(process_set)
    check_root(root_rank)
    named = _pairs(params)
    here = world()
    here.turns.announce(Call("broadcast_parameters", None, {"root_rank": root_rank},
                             described([tensor for _, tensor in named], [name for name, _ in named])))
    for _, tensor in named:
        if here.size > 1 and tensor.numel():
            state.share_tensor(here.group, tensor, root_rank)


def _pairs(params):
    if isinstance(params, dict):
        params = sorted(params.items())
    elif isinstance(params, (list, tuple)) or hasattr(params, "__next__"):
        params = list(params)
    if not isinstance(params, list) or not all(isinstance(each, tuple) and len(each) == 2 for each in params):
        raise ValueError("broadcast_parameters() takes model.state_dict() or model.named_parameters()")
    found = [(name, value) for name, value in params if value is not None]
    for name, value in found:
        if not torch.is_tensor(value):
            raise ValueError(f"{name} is a {type(value).__name__}, not a tensor: share it by broadcast_object(), and an "
                             "optimizer's state by broadcast_optimizer_state()")
    twice = [name for name, count in Counter(name for name, _ in found).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} is there more than once: give every parameter a name of its own")
    return found


def broadcast_optimizer_state(optimizer, root_rank, model=None, process_set=global_process_set):
    """Every rank's state and options become `root_rank`'s, whether it has made a step or not. Raises ValueError."""
    check_all_ranks(process_set)
    check_root(root_rank)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("LBFGS keeps its state otherwise: share it by broadcast_object(optimizer.state_dict(), root_rank)")
    here = world()
    tensors = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    here.turns.announce(Call("broadcast_optimizer_state", None, {"root_rank": root_rank}, described(tensors)))
    if here.size == 1:
        return
    data = here.group.broadcast_bytes(state.packed(optimizer.state_dict()) if here.rank == root_rank else b"", root_rank)
    if here.rank != root_rank:
        optimizer.load_state_dict(_unpacked(data))


def broadcast_object(obj=None, root_rank=0, name=None, process_set=global_process_set):
    """Returns `root_rank`'s object, which can be pickled, on every rank."""
    check_all_ranks(process_set)
    check_root(root_rank)
    here = world()
    here.turns.announce(Call("broadcast_object", name, {"root_rank": root_rank}))
    if here.size == 1:
        return obj
    data = here.group.broadcast_bytes(state.packed(obj) if here.rank == root_rank else b"", root_rank)
    return obj if here.rank == root_rank else _unpacked(data)


def allgather_object(obj, name=None, process_set=global_process_set):
    """Returns all ranks' objects, in the order of ranks."""
    check_all_ranks(process_set)
    here = world()
    here.turns.announce(Call("allgather_object", name))
    return [_unpacked(data) for data in here.group.all_gather_bytes(state.packed(obj))]


def _unpacked(data):
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=False)
