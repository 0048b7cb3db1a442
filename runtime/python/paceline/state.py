"""What ranks compare and share of models and of what is carried with them."""

import contextlib
import hashlib
import io
import json

import torch

from paceline.errors import PacelineError
from paceline.group import MEAN

WRAPPED = {"DistributedDataParallel", "FullyShardedDataParallel", "DataParallel"}


def check_model(model):
    """Raises PacelineError where it is wrapped by what averages gradients itself."""
    name = type(model).__name__
    if name in WRAPPED:
        raise PacelineError(f"job.distribute() takes the model itself, not one wrapped in {name}: both would "
                            "average its gradients. Pass the module inside.")


def tensors_of(model):
    """Its parameters and buffers, by name, in an order of their own."""
    return {name: value for name, value in sorted(model.state_dict().items()) if torch.is_tensor(value)}


def compare(group, model):
    """Raises PacelineError on every rank, and names the first tensor that ranks have otherwise."""
    described = [[name, list(value.shape), str(value.dtype)] for name, value in tensors_of(model).items()]
    own = json.dumps(described).encode()
    digests = group.all_gather_bytes(hashlib.sha256(own).digest(), "compares models")
    if all(each == digests[0] for each in digests):
        return
    everyones = [json.loads(each) for each in group.all_gather_bytes(own, "compares models")]
    other = next(rank for rank, each in enumerate(everyones) if each != everyones[0])
    raise PacelineError(difference(everyones[0], everyones[other], other))


def difference(first, other, rank, first_rank=0):
    """The sentence for two ranks' lists of [name, shape, type], which differ."""
    for mine, theirs in zip(first, other):
        if mine != theirs:
            return (f"The ranks built different models: rank {first_rank} has {_tensor(mine)}, rank {rank} has "
                    f"{_tensor(theirs)} in its place.")
    more, whose = (first, first_rank) if len(first) > len(other) else (other, rank)
    return (f"The ranks built different models: only rank {whose} has "
            f"{_tensor(more[min(len(first), len(other))])}.")


def _tensor(described):
    name, shape, dtype = described
    return f"{name} ({'x'.join(map(str, shape)) or 'scalar'} {dtype.removeprefix('torch.')})"


def share_model(group, model, root=0):
    """Every rank's parameters and buffers become `root`'s."""
    share_tensors(group, tensors_of(model).values(), root)


def share_tensor(group, tensor, root=0):
    """Every rank's becomes `root`'s, in place."""
    share_tensors(group, [tensor], root)


@torch.no_grad()
def share_tensors(group, tensors, root=0):
    """Each becomes `root`'s, in place. The next one is on its way from a GPU while one goes from rank to rank."""
    tensors = [each.detach() for each in tensors if each.numel()]
    if not tensors:
        return
    sends = group.rank == root
    ahead = _Room(tensors[0], sends)
    for following in [*tensors[1:], None]:
        room, ahead = ahead, None if following is None else _Room(following, sends)
        room.share(group, root)
    for device in {each.device for each in tensors if each.is_cuda}:
        torch.cuda.current_stream(device).synchronize()


class _Room:
    """A tensor in host memory, contiguous: itself, or a copy."""

    def __init__(self, tensor, sends):
        self._tensor, self._sends, self._there = tensor, sends, None
        self._room = tensor
        if tensor.device.type != "cpu" or not tensor.is_contiguous():
            self._room = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            if sends:
                self._room.copy_(tensor, non_blocking=tensor.is_cuda)
                if tensor.is_cuda:
                    self._there = torch.cuda.Event()
                    self._there.record(torch.cuda.current_stream(tensor.device))

    def share(self, group, root):
        if self._there:
            self._there.synchronize()
        group.broadcast(self._room, root)
        if self._room is not self._tensor and not self._sends:
            self._tensor.copy_(self._room, non_blocking=self._tensor.is_cuda)


def average_buffers(group, model):
    """Buffers that each rank keeps for itself, as batch norm's statistics, become their mean."""
    floats = [each for each in model.buffers() if each.is_floating_point()]
    if group.size == 1 or not floats:
        return
    with torch.no_grad():
        device = floats[0].device
        flat = torch.cat([each.reshape(-1).double().to(device) for each in floats]).cpu()
        group.all_reduce(flat, MEAN)
        for each, mean in zip(floats, flat.to(device).split([each.numel() for each in floats])):
            each.copy_(mean.view_as(each))


@contextlib.contextmanager
def evaluating(models):
    """Models compute as for an evaluation: in eval mode, without gradients. Then each of their modules is in its own mode
    again."""
    modes = [(module, module.training) for model in models for module in model.modules()]
    try:
        for model in models:
            model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:  # from the outside in: train() sets those inside, too
            if module.training != training:
                module.train(training)


def packed(value):
    room = io.BytesIO()
    torch.save(value, room)
    return room.getvalue()


def unpacked(data):
    """What packed() made into bytes; tensors on the CPU."""
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=False)
