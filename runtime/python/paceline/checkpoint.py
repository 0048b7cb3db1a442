"""Checkpoints: written whole or not at all, beside the training; the newest two are kept."""

import copy
import io
import os
import threading
from collections import deque
from pathlib import Path

import torch

from paceline import state
from paceline.errors import PacelineError

FORMAT = "paceline-1"
PATTERN = "ckpt-*.pt"
KEPT = 2


class Folder:
    """Where a training keeps its checkpoints. Only one rank writes. `format`: what they say of their kind."""

    def __init__(self, folder, format=FORMAT):
        self.path = Path(folder).resolve()
        self._format = format
        self._writes = None
        self._written = deque()

    def prepare(self):
        """Makes it, and proves that it can be written to. Raises PacelineError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".writable-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise PacelineError(f"Checkpoints can't be written to {self.path}: {error.strerror}. Choose "
                                "another folder.") from error

    def newest(self):
        """The bytes of what to go on from, and its path: $PACELINE_CHECKPOINT, else the newest here.
        None: there is none. Raises PacelineError."""
        given = os.environ.get("PACELINE_CHECKPOINT")
        found = [Path(given)] if given else _newest_first(self.path, PATTERN)
        if not found:
            return None
        try:
            return found[0].read_bytes(), found[0]
        except OSError as error:
            raise PacelineError(f"The checkpoint {found[0]} can't be read: {error.strerror}. Name another "
                                "one in PACELINE_CHECKPOINT, or unset it.") from error

    def read(self, data, path):
        """The state in a checkpoint's bytes, on the CPU. Raises PacelineError."""
        try:
            found = state.unpacked(data)
        except Exception as error:  # whatever unpickling of a torn or foreign file comes up with
            raise PacelineError(f"{path} is no complete checkpoint. Remove it to go on from an older "
                                "one.") from error
        if not isinstance(found, dict) or found.get("format") != self._format:
            raise PacelineError(f"{path} is no checkpoint of this kind of training. Choose another folder, and unset "
                                "PACELINE_CHECKPOINT if it names it.")
        return found

    def begin(self, number, values, mark):
        """Takes the values as they are now, and writes them while the training goes on. `number`: goes into its name.

        written() tells of it with `mark`. Where it can't be written the older ones are untouched.
        """
        self.join()
        self._writes = threading.Thread(target=self._write, args=(number, _taken({"format": self._format, **values}), mark))
        self._writes.start()

    def join(self):
        """Returns once what was begun is written, or has failed."""
        if self._writes:
            self._writes.join()
            self._writes = None

    def written(self):
        """(mark, path, why not) of those that were written, or failed, since it was asked last."""
        while self._written:
            yield self._written.popleft()

    def _write(self, number, packed, mark):
        path = self.path / f"ckpt-{number:012d}.pt"
        unfinished = self.path / f".{path.name}.unfinished"
        try:
            data = packed()
            with open(unfinished, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
            _sync(self.path)
            remove_older(self.path, PATTERN)
        except Exception as error:  # of the disk, or whatever packing comes up with
            unfinished.unlink(missing_ok=True)
            self._written.append((mark, None, getattr(error, "strerror", None) or str(error)))
        else:
            self._written.append((mark, path, None))


def _taken(values):
    """A function that packs the values as they are now. Of what lies on GPUs copies are under way when this returns, for
    which that function waits."""
    rooms, copies = {}, {}
    for tensor in _tensors_on_gpus(values):
        same = tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()  # under another name, say
        if same not in rooms:
            room = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            rooms[same] = room.copy_(tensor.detach(), non_blocking=True)
        copies[id(tensor)] = rooms[same]
    if not copies:
        return _packed(values).getbuffer
    events = [torch.cuda.current_stream(device).record_event(torch.cuda.Event(blocking=True))
              for device in {device for device, *_ in rooms}]
    # What else there is must not change either before it is packed.
    values = copy.deepcopy(values, copies)

    def packed():
        for event in events:
            event.synchronize()
        return _packed(values).getbuffer()

    return packed


def _packed(values):
    room = io.BytesIO()
    torch.save(values, room)
    return room


def _tensors_on_gpus(values):
    if torch.is_tensor(values):
        return [values] if values.is_cuda else []
    parts = values.values() if isinstance(values, dict) else values if isinstance(values, (list, tuple)) else []
    return [tensor for each in parts for tensor in _tensors_on_gpus(each)]


def go_on(group, folder):
    """(state, path) of what all ranks go on from, the state on the CPU; (None, None) where there is nothing yet. Makes
    the folder. Raises PacelineError on every rank."""
    found = trouble = None
    if group.rank == 0:
        try:
            folder.prepare()
            found = folder.newest()
        except PacelineError as error:
            trouble = str(error)
    trouble = state.share_bytes(group, trouble.encode() if trouble else None)
    if trouble:
        raise PacelineError(trouble.decode())
    data = state.share_bytes(group, found[0] if found else None)
    if data is None:
        return None, None
    path = state.share_bytes(group, str(found[1]).encode() if found else None).decode()
    return folder.read(data, path), path


def remove_older(folder, pattern):
    """Keeps the newest of what matches the pattern."""
    for old in _newest_first(folder, pattern)[KEPT:]:
        old.unlink(missing_ok=True)


def _newest_first(folder, pattern):
    # By time, not by number: after going back to an older one, what was trained since then counts.
    found = [(path.stat().st_mtime_ns, path.name, path) for path in folder.glob(pattern)]
    return [path for *_, path in sorted(found, reverse=True)]


def _sync(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
