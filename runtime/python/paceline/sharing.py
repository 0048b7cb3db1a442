"""One rank's state on every rank: what newcomers of a gang train on with, and those that the group failed too soon for."""

import torch

from paceline import state


class _Tensor:
    """Stands for a tensor that travels by itself."""

    def __init__(self, tensor):
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def share_state(group, value, has_it, root=0):
    """Returns `root`'s `value`: dicts, lists and tuples of tensors and of what pickles. Ranks that have the same
    already (`has_it`) keep theirs."""
    tensors = []
    outline = _outline(value, tensors) if has_it else None
    data = group.broadcast_bytes(state.packed(outline) if group.rank == root else None, root)
    if not has_it:
        outline = state.unpacked(data)
        value = _filled(outline, tensors)
    state.share_tensors(group, tensors, root)
    return value


def _outline(value, tensors):
    if torch.is_tensor(value):
        tensors.append(value)
        return _Tensor(value)
    return _mapped(value, lambda each: _outline(each, tensors))


def _filled(value, tensors):
    if isinstance(value, _Tensor):
        tensors.append(torch.empty(value.shape, dtype=value.dtype))
        return tensors[-1]
    return _mapped(value, lambda each: _filled(each, tensors))


def _mapped(value, change):
    if isinstance(value, dict):
        return {key: change(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([change(each) for each in value])
    return value
