"""Checkpoints: written whole or not at all, beside the training; the newest two are kept."""

import copy
import ctypes
import inspect
import os
import pickle
import struct
import threading
import time
import zipfile
from collections import deque
from pathlib import Path

import torch

from paceline import state
from paceline.errors import PacelineError, is_want_of_memory
from paceline.timeline import OFF

FORMAT = "paceline-1"
PATTERN = "ckpt-*.pt"
KEPT = 2


class Folder:
    """Where a training keeps its checkpoints. Only one rank writes. `format`: what they say of their kind.

    `took_s`: how long the newest took from begin() until it was written, or had failed.
    """

    def __init__(self, folder, format=FORMAT, timeline=OFF):
        self.path = Path(folder).resolve()
        self._format, self._timeline = format, timeline
        self._writes, self._rooms = None, _Rooms()
        self._written, self.took_s = deque(), 0.0

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
            if is_want_of_memory(error):
                raise
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
        begun = time.monotonic()
        copied = self._rooms.copied({"format": self._format, **values})
        span = self._timeline.beside("write")

        def write():
            with span:
                self._write(number, *copied, mark, begun)

        self._writes = threading.Thread(target=write)
        self._writes.start()

    def is_writing(self):
        """What was begun is under way: another one would have to wait for it."""
        return self._writes is not None and self._writes.is_alive()

    def join(self):
        """Returns once what was begun is written, or has failed."""
        if self._writes:
            self._writes.join()
            self._writes = None

    def written(self):
        """(mark, path, why not) of those that were written, or failed, since it was asked last."""
        while self._written:
            yield self._written.popleft()

    def _write(self, number, values, events, mark, begun):
        path = self.path / f"ckpt-{number:012d}.pt"
        unfinished = self.path / f".{path.name}.unfinished"
        try:
            for each in events:
                each.synchronize()
            write_whole(unfinished, path, values)
            remove_older(self.path, PATTERN)
        except Exception as error:  # of the disk, or whatever packing comes up with
            unfinished.unlink(missing_ok=True)
            path, why = None, getattr(error, "strerror", None) or str(error)
        else:
            why = None
        self.took_s = time.monotonic() - begun
        self._written.append((mark, path, why))


def write_whole(unfinished, path, values):
    """What torch.save() writes becomes the file `path`, all at once. Raises OSError, and whatever packing comes up with;
    then something of it may lie at `unfinished`, in the same folder."""
    with open(unfinished, "wb") as file:
        _save(values, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    _sync(path.parent)


class _Rooms:
    """Host memory for copies of tensors, kept from checkpoint to checkpoint: getting it anew takes longer than a copy."""

    def __init__(self):
        self._kept = {}  # by type, shape, and whether GPUs copy to it

    def copied(self, values):
        """(a copy of the values as they are now, events after which what comes from GPUs is there).
        REQUIRES: the copy before this one is done with."""
        kept, self._kept = self._kept, {}
        rooms, copies = {}, {}
        for tensor in _tensors_in(values):
            same = tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()  # under another name, say
            if same not in rooms:
                kind = tensor.dtype, tensor.shape, tensor.is_cuda
                free = kept.get(kind)
                room = free.pop() if free else torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
                self._kept.setdefault(kind, []).append(room)
                rooms[same] = room.copy_(tensor, non_blocking=True)
            copies[id(tensor)] = rooms[same]
        values = copy.deepcopy(values, copies)
        return values, [torch.cuda.current_stream(device).record_event(torch.cuda.Event(blocking=True))
                        for device in {device for device, *_ in rooms if device.type == "cuda"}]


def _tensors_in(values):
    if type(values) is torch.Tensor:
        plain = values.layout == torch.strided and values.device.type in ("cpu", "cuda") and not values.requires_grad
        return [values] if plain else []
    parts = values.values() if isinstance(values, dict) else values if isinstance(values, (list, tuple)) else []
    return [tensor for each in parts for tensor in _tensors_in(each)]


def _save(values, file):
    """What torch.save() writes, but the training goes on meanwhile: torch.save() keeps Python's lock over whole tensors."""
    save = getattr(torch.serialization, "_save", None)
    more = len(inspect.signature(save).parameters) - 4 if save else -1
    if more not in (0, 1):  # those of the versions that are known
        torch.save(values, file)
        return
    with zipfile.ZipFile(file, "w") as archive:
        save(values, _Records(archive), pickle, 2, *[False] * more)
        _Records(archive).write_record("version", b"3\n", 2)


class _Records:
    """What torch.serialization writes to, as a zip archive."""

    ALIGNMENT = 64
    HEADER = 30 + 20  # bytes before a record's data, beside its name: zip's own, and its size in 64 bits

    def __init__(self, archive):
        self._archive = archive

    def write_record(self, name, data, size):
        if isinstance(data, str):
            data = data.encode()
        elif not isinstance(data, bytes):
            address = data if isinstance(data, int) else data.data_ptr()
            data = memoryview((ctypes.c_char * size).from_address(address)) if size else b""
        record = zipfile.ZipInfo("archive/" + name)
        # Its data begin where loading may map them to memory.
        begin = self._archive.fp.tell() + self.HEADER + len(record.filename)
        record.extra = struct.pack("<2sH", b"FB", room := -(begin + 4) % self.ALIGNMENT) + bytes(room)
        with self._archive.open(record, "w", force_zip64=True) as file:
            file.write(data)


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
    trouble = group.broadcast_bytes(trouble.encode() if trouble else None)
    if trouble:
        raise PacelineError(trouble.decode())
    data = group.broadcast_bytes(found[0] if found else None)
    if data is None:
        return None, None
    path = group.broadcast_bytes(str(found[1]).encode() if found else None).decode()
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
