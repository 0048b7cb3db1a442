"""Checkpoints: written whole or not at all, the newest two kept."""

import os
from pathlib import Path

import torch

from common.errors import UserError

KEPT = 2
FORMAT = 1
PATTERN = "ckpt-*.pt"


def save_checkpoint(folder, samples, state):
    """Writes `state` durably to `folder`/ckpt-<samples>.pt and returns its absolute path.

    Raises OSError, with no new checkpoint and the old ones untouched.
    """
    folder = Path(folder).resolve()
    path = folder / f"ckpt-{samples:09d}.pt"
    unfinished = folder / f".{path.name}.unfinished"
    with open(unfinished, "wb") as file:
        torch.save({"format": FORMAT, "samples": samples, **state}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    _sync_folder(folder)
    for old in _newest_first(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def find_checkpoint(folder):
    """Returns what to go on from: $PACELINE_CHECKPOINT, else the newest in `folder`, else None.

    One that is gone from `folder` made room for newer ones: then it is the newest of those.
    """
    given = os.environ.get("PACELINE_CHECKPOINT")
    there = _newest_first(Path(folder)) if folder else []
    if given and not (there and _made_room(Path(given), folder)):
        return Path(given)
    return there[0] if there else None


def load_checkpoint(path):
    """Returns the state saved in `path`, on the CPU. Raises UserError."""
    try:
        state = torch.load(path, map_location="cpu")
    except OSError as error:
        raise UserError(f"can't read the checkpoint {path}: {error.strerror}; name another one in "
                        "PACELINE_CHECKPOINT or unset it") from error
    except Exception as error:  # whatever unpickling of a torn or foreign file comes up with
        raise UserError(f"{path} is no complete checkpoint; remove it to go on from an older "
                        "one") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise UserError(f"{path} is no checkpoint of these examples; choose another "
                        "--checkpoint-dir")
    return state


def make_folder(folder):
    """Makes `folder` and proves that it can be written to. Raises UserError."""
    try:
        os.makedirs(folder, exist_ok=True)
        probe = Path(folder) / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"can't write checkpoints to {folder}: {error.strerror}; choose another "
                        "--checkpoint-dir") from error


def _newest_first(folder):
    # By time, not by number: after going back to an older one, what was trained since then counts.
    found = [(path.stat().st_mtime_ns, path.name, path) for path in folder.glob(PATTERN)]
    return [path for *_, path in sorted(found, reverse=True)]


def _made_room(path, folder):
    return not path.exists() and path.parent.resolve() == Path(folder).resolve() and path.match(PATTERN)


def _sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
