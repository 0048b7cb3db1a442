"""Checkpoints: written whole or not at all, beside the training; the newest two are kept."""

import contextlib
import copy
import ctypes
import inspect
import os
import pickle
import struct
import sys
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
LATER_NS = 1_000_000  # than the newest, where the clock shows less


class Folder:
    """Where a training keeps its checkpoints. Only one rank writes. `format`: what they say of their kind.

    `took_s`: how long the newest took from begin() until it was written, or had failed.
    """

    def __init__(self, folder, format=FORMAT, timeline=OFF):
        self.path = Path(folder).resolve()
        self._format, self._timeline = format, timeline
        self._writes, self._rooms = None, _Rooms()
        self._written, self.took_s = deque(), 0.0
        self._needed = None  # what the next start may be given: what was told of last, before that what was gone on from

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
        """The bytes of what to go on from, and its path: $PACELINE_CHECKPOINT, else the newest here. One of this folder that is
        gone made room for newer ones: then it is the newest, too. None: there is none. Raises PacelineError."""
        given = os.environ.get("PACELINE_CHECKPOINT")
        there = _newest_first(self.path, PATTERN)
        found = [Path(given)] if given else there
        if not found:
            return None
        if given and there and self._made_room(found[0]):
            print(f"paceline: The checkpoint {given} is gone, and newer ones are in its folder: {there[0].name} is the newest.",
                  file=sys.stderr, flush=True)
            found = there
        self._needed = found[0].parent.resolve() / found[0].name
        try:
            return found[0].read_bytes(), found[0]
        except OSError as error:
            raise PacelineError(f"The checkpoint {found[0]} can't be read: {error.strerror}. Name another "
                                "one in PACELINE_CHECKPOINT, or unset it.") from error

    def _made_room(self, path):
        return not path.exists() and path.parent.resolve() == self.path and path.match(PATTERN)

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
        """(mark, path, why not) of those that were written, or failed, since it was asked last. Tell Paceline of them before
        the next begin(), which removes what is older than the last one told of."""
        while self._written:
            mark, path, why = self._written.popleft()
            yield mark, path, why
            self._needed = path or self._needed

    def _write(self, number, values, events, mark, begun):
        path = self.path / f"ckpt-{number:012d}.pt"
        unfinished = self.path / f".{path.name}.unfinished"
        try:
            for each in events:
                each.synchronize()
            self._remove_unfinished()
            write_whole(unfinished, path, values, _newest_ns(self.path, PATTERN))
            self._remove_older()
        except Exception as error:  # of the disk, or whatever packing comes up with
            unfinished.unlink(missing_ok=True)
            path, why = None, getattr(error, "strerror", None) or str(error)
        else:
            why = None
        self.took_s = time.monotonic() - begun
        self._written.append((mark, path, why))

    def _remove_unfinished(self):
        """Of ranks that died, since one writes at a time."""
        with contextlib.suppress(OSError):
            for each in self.path.glob(f".{PATTERN}.unfinished"):
                each.unlink(missing_ok=True)

    def _remove_older(self):
        # A rank that takes over the writing doesn't know yet what Paceline was told of by the one before it.
        if self._needed:
            with contextlib.suppress(OSError):
                remove_older(self.path, PATTERN, self._needed)


def write_whole(unfinished, path, values, newest_ns=0):
    """What torch.save() writes becomes the file `path`, all at once. Raises OSError, and whatever packing comes up with;
    then something of it may lie at `unfinished`, in the same folder. `newest_ns`: its time is later, whatever the clock
    shows."""
    with open(unfinished, "wb") as file:
        _save(values, file)
        file.flush()
        if os.fstat(file.fileno()).st_mtime_ns <= newest_ns:
            with contextlib.suppress(OSError):  # not every file system can do it
                os.utime(file.fileno(), ns=(newest_ns + LATER_NS,) * 2)
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


def remove_older(folder, pattern, needed=None):
    """Keeps the newest of what matches the pattern, and all from `needed` on. Where that isn't there nothing is removed."""
    found = _newest_first(folder, pattern)
    if needed and needed not in found:
        return
    kept = max(KEPT, found.index(needed) + 1 if needed else 0)
    for old in found[kept:]:
        old.unlink(missing_ok=True)


def _newest_first(folder, pattern):
    # By time, not by number: after going back to an older one, what was trained since then counts.
    return [path for _, path in sorted(_with_times(folder, pattern), reverse=True)]


def _newest_ns(folder, pattern):
    return max((time for time, _ in _with_times(folder, pattern)), default=0)


def _with_times(folder, pattern):
    return [(path.stat().st_mtime_ns, path) for path in folder.glob(pattern)]


def _sync(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
