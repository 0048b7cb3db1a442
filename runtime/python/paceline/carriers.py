"""What carries gradients from rank to rank: host memory, or NCCL from GPU to GPU.

    sent = carrier.start(flat)     of every rank, in the same order
    carrier.settle(flat)           all up to this one are summed, or an error is raised
    tail = sent()
"""

import queue
import threading
import time
from collections import deque

import torch

from paceline import streams
from paceline.errors import GroupError, PacelineError
from paceline.group import MAX, SUM, type_name
from paceline.nccl import NcclError

BEAT_S = 0.02  # for so long a rank waits for its GPU, before it looks after the others
UNATTENDED_S = 1.0  # so long a backward() may take, before somebody else looks after the others
_LAUNCH_S = 0.002  # for so long a backward() waits until NCCL is ready for the next tensor
_POLL_S = 30e-6


class Flat:
    """A tensor that travels. What its last `tail` numbers came to is told to the host, too."""

    def __init__(self, tensor, tail):
        self.tensor, self.tail = tensor, tail
        self.room = self.tail_room = None  # in host memory, where the tensor itself is elsewhere
        self.number, self.end = 0, None  # of those that NCCL was given, and an event after its sum


class HostCarrier:
    """Sums in host memory, by the group. `threaded`: on some rank tensors are elsewhere. Calls raise GroupError."""

    def __init__(self, group, threaded=False):
        self._group = group
        self._copies = _Copies(group) if threaded else None

    def start(self, flat):
        if self._copies:
            return self._copies.start(flat)
        wait = self._group.start_all_reduce(flat.tensor, SUM)

        def waited():
            wait()
            return flat.tensor[-flat.tail:].tolist()

        return waited

    def settle(self, flat):
        pass  # each is waited for by itself

    def close(self):
        """REQUIRES: what was started has ended, or the group failed."""
        if self._copies:
            self._copies.close()


class _Copies:
    """A thread that takes each tensor from the GPU, once it is complete there, has it summed, and brings it back."""

    def __init__(self, group):
        self._group = group
        self._sides = {}  # by device: to host memory, and back
        self._waiting = queue.SimpleQueue()
        self._ends = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, flat):
        device = flat.tensor.device
        if device not in self._sides:
            self._sides[device] = streams.side(device), streams.side(device)
        trip = _Trip(flat, *self._sides[device])
        self._waiting.put(trip)
        return trip.wait

    def close(self):
        self._ends = True
        self._waiting.put(None)
        _end(self._thread, self._group)

    def _work(self):
        for trip in iter(self._waiting.get, None):
            if not self._ends:
                trip.make(self._group)


class _Trip:
    def __init__(self, flat, down, up):
        self._flat, self._up = flat, up
        self._done, self._error = threading.Event(), None
        self._there = self._back = None  # events
        if not down:
            flat.room = flat.tensor
            return
        if flat.room is None:
            flat.room = down.host_room(flat.tensor)
        down.follow()
        down.copy(flat.room, flat.tensor)
        self._there = down.mark()

    def make(self, group):
        try:
            if self._there:
                self._there.synchronize()
            group.all_reduce(self._flat.room, SUM)
            if self._up:
                self._up.copy(self._flat.tensor, self._flat.room)
                self._back = self._up.mark()
        except Exception as error:
            self._error = error
        self._done.set()

    def wait(self):
        self._done.wait()
        if self._error:
            raise self._error
        if self._back:
            self._up.precede(self._back)
        return self._flat.room[-self._flat.tail:].tolist()


class NcclCarrier:
    """Sums from GPU to GPU.

    Where a rank dies, settle() raises GroupError, and where NCCL alone breaks NcclError, on every rank; what was started is
    spoiled then. While NCCL is waited for, ranks tell each other over the group that they are alive, so a death ends the
    wait, and the communicator. REQUIRES: from start() to settle() ranks do nothing else by the group.
    """

    def __init__(self, group, communicator, side):
        self._group, self._communicator, self._side = group, communicator, side
        self._queued, self._launched = deque(), None
        self._started = self._settled = 0  # how many were
        self._broken = self._over = None  # why: what this rank knows, and what all know
        self._watch = _Watch(self._beat)

    def form(self, within_s):
        """Returns once the communicator is there on every rank. Raises NcclError on every rank, GroupError."""
        end = time.monotonic() + within_s

        def is_formed():
            if time.monotonic() > end:
                raise NcclError(f"no communicator was formed within {within_s:g} s")
            return self._communicator.is_ready()

        self._until(is_formed)

    def start(self, flat):
        if flat.tail_room is None:
            flat.tail_room = self._side.host_room(flat.tensor[-flat.tail:])
        self._started += 1
        flat.number, flat.end = self._started, None
        self._side.follow()
        self._queued.append(flat)
        self._watch.begin()
        self._guarded(lambda: self._advance(_LAUNCH_S))
        return flat.tail_room.tolist

    def settle(self, flat):
        if self._over:
            raise NcclError(self._over)
        if flat.number <= self._settled:
            return
        with self._watch:
            self._until(lambda: self._advance() and flat.end.query())
        self._settled = flat.number
        self._side.precede(flat.end)

    def close(self):
        """Ends what runs. Raises PacelineError where it doesn't end."""
        self._communicator.abort()
        self._watch.close(self._group)

    def _advance(self, within_s=0.0):
        """Launches what can be. True: all was."""
        end = time.monotonic() + within_s
        while self._communicator.is_ready():
            if self._launched:
                flat, self._launched = self._launched, None
                self._side.copy(flat.tail_room, flat.tensor[-flat.tail:])
                flat.end = self._side.mark()
            if not self._queued:
                return True
            flat = self._launched = self._queued.popleft()
            with self._side.on_device():
                self._communicator.all_reduce(flat.tensor.data_ptr(), flat.tensor.numel(), type_name(flat.tensor),
                                              self._side.handle)
            while not self._communicator.is_ready() and time.monotonic() < end:
                time.sleep(_POLL_S)
        return False

    def _until(self, is_done):
        """Returns once that is so on every rank."""
        waits = True
        while waits:
            end = time.monotonic() + BEAT_S
            while not (done := self._guarded(is_done)) and not self._broken and time.monotonic() < end:
                time.sleep(_POLL_S)
            waits = self._beat(not done)

    def _guarded(self, act):
        try:
            return act()
        except NcclError as error:
            self._broken = self._broken or str(error)
            return False

    def _beat(self, waits):
        """Tells all ranks whether this one waits. Returns whether any does. Raises what settle() does."""
        flags = torch.tensor([float(waits), float(self._broken is not None)])
        try:
            self._group.all_reduce(flags, MAX)
        except GroupError:
            self._communicator.abort()
            raise
        if flags[1]:
            self._communicator.abort()
            everyones = self._group.all_gather_bytes((self._broken or "").encode(), "gives up NCCL")
            self._over = next(each.decode() for each in everyones if each)
            raise NcclError(self._over)
        return bool(flags[0])


class _Watch:
    """Looks after the other ranks where a backward() takes long, in which this process may well wait for its GPU. As a
    context: the caller does that now."""

    def __init__(self, beat):
        self._beat = beat
        self._changed, self._beating = threading.Condition(), threading.Lock()
        self._since, self._ends, self._error = None, False, None
        self._thread = None

    def begin(self):
        with self._changed:
            self._since = self._since or time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def close(self, group):
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread:
            _end(self._thread, group)

    def __enter__(self):
        self._beating.acquire()
        self._since = None
        if self._error:
            self._beating.release()
            raise self._error

    def __exit__(self, *_):
        self._beating.release()

    def _work(self):
        while not self._ended_within(BEAT_S if self._is_due() else UNATTENDED_S / 4):
            with self._beating:
                if not self._is_due():
                    continue
                try:
                    self._beat(True)
                except (PacelineError, NcclError, ValueError) as error:
                    self._error = error
                    return

    def _ended_within(self, seconds):
        with self._changed:
            return self._changed.wait_for(lambda: self._ends, seconds)

    def _is_due(self):
        return self._since is not None and time.monotonic() - self._since >= UNATTENDED_S


def _end(thread, group):
    """REQUIRES: the group failed, or the thread doesn't use it."""
    thread.join(0.2)
    if thread.is_alive():  # this rank alone knows that the group failed
        group.abort("Another rank left the group.")
        thread.join()
