"""Models that a training hands out: each a file that is whole, and that the next one replaces as a whole."""

import contextlib
import hashlib
import json
from pathlib import Path

import torch

from paceline import state
from paceline.checkpoint import write_whole
from paceline.errors import PacelineError, raise_together

PIECE = 1 << 20


def publish(group, model, path):
    """Rank 0 writes the model's state_dict(), its tensors on the CPU. Returns, on every rank, {"model": absolute path, "bytes",
    "sha256"}. Raises GroupError; PacelineError on every rank where it can't be written."""
    if not hasattr(model, "state_dict"):
        raise PacelineError(f"A {type(model).__name__} can't be published: it has no state_dict().")
    state.average_buffers(group, model)
    told = json.dumps(_write(model, Path(path).absolute())) if group.rank == 0 else ""
    told = json.loads(group.broadcast_bytes(told.encode()))
    if "why" in told:
        raise_together(group, told["why"])
    return told


def _write(model, path):
    unfinished = path.with_name(f".{path.name}.unfinished")
    values = {name: each.detach().cpu() if torch.is_tensor(each) else each for name, each in model.state_dict().items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(unfinished, path, values)
        return {"model": str(path), "bytes": path.stat().st_size, "sha256": _sha256(path)}
    except Exception as error:  # of the disk, or whatever packing comes up with
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        why = getattr(error, "strerror", None) or str(error)
        return {"why": f"The model can't be written to {path}: {why}. Choose another path, or make room there."}


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
