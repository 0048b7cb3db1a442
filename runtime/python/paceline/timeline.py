"""Where the time of a rank goes: spans of its training, which Paceline keeps beside the worker's log (docs/runtime.md).

    with timeline.span("data"):
        batch = next(loaded)

A span costs two readings of the clock and a tuple; a thread of its own hands spans on once a second. What no span says is the
script's own: "start" up to the first step, "compute" within a step, "script" between two.
"""

import atexit
import contextlib
import os
import threading
import time
from collections import deque

HAND_ON_EVERY_S = 1.0
QUIET_MAX_S = 64.0  # between two words of a rank that stays in one span
SPANS_MAX = 20_000  # of a generation that wait to be handed on; then the oldest go
PIECE_SPANS = 800  # handed on at once: below 64 KiB
LAST_WORD_S = 2.0
SHORTEST_NS = 1000  # of what the script does between two spans


class _Lap:
    """What was recorded in one generation. `place`: this rank's, once the generation stands."""

    def __init__(self):
        self.place = None
        self.spans, self.beside = deque(maxlen=SPANS_MAX), deque(maxlen=SPANS_MAX)  # (name, step, begun, ended), in ns


class Timeline:
    """Used by one thread, the training's, but for beside().

    `step`: the number of the global batch under way, or of the last one.
    """

    def __init__(self, socket, now=time.monotonic_ns):
        self.step = 0
        self._now = now
        self._named = _Named(self)
        self._open = []  # (name, step, begun), from the outermost in
        self._rest, self._step_begun = ("start", 0, now()), 0  # what goes on outside of spans, as in _open
        self._lap, self._clock = _Lap(), None
        self._messenger = _Messenger(socket, self._lap, self._activity, now)

    def span(self, name):
        """A context: the training does `name` in it."""
        return self._named[name]

    def beside(self, name):
        """A context for any one thread: `name` goes on beside the training."""
        return _Beside(self, name)

    def begin_step(self, number):
        """REQUIRES: outside of spans, as end_step()."""
        now = self._now()
        self._end_rest(now)
        self.step, self._step_begun = number, now
        self._rest = "compute", number, now

    def end_step(self):
        now = self._now()
        self._end_rest(now)
        self._lap.spans.append(("step", self.step, self._step_begun, now))
        self._rest = "script", self.step, now

    def was(self, name):
        """What the script did since the last span, or since the last call, was `name`: where a span can't be laid around it.
        Before the first step it is "start" all the same. REQUIRES: outside of spans."""
        outside, step, begun = self._rest
        if outside == "start":
            return
        now = self._now()
        self._rest = name, step, begun
        self._end_rest(now)
        self._rest = outside, step, now

    def drop_step(self):
        """The step under way came to nothing, or is over. REQUIRES: within a span."""
        self._rest = "script", self.step, self._now()

    def stands(self, group, place):
        """All ranks of a generation have met: each calls it, where no other operation of the group runs. Raises GroupError."""
        from paceline import clocks  # loads PyTorch, which is not to be waited for before signals are minded

        self._clock = clocks.agree(group, self._clock, self._now)
        if self._lap.place:
            self._lap = _Lap()
            self._messenger.add(self._lap)
        self._lap.place = {"pid": os.getpid(), "rank": place.rank, "size": place.size, "generation": place.generation,
                           "clock": self._clock.in_us()}

    def _enter(self, name):
        now = self._now()
        if not self._open:
            self._end_rest(now)
        self._open.append((name, self.step, now))

    def _leave(self):
        now = self._now()
        name, step, begun = self._open.pop()
        self._lap.spans.append((name, step, begun, now))
        if not self._open:
            self._rest = (*self._rest[:2], now)

    def _end_rest(self, now):
        if now - self._rest[2] >= SHORTEST_NS:
            self._lap.spans.append((*self._rest, now))

    def _activity(self):
        """What the training does now. From any thread."""
        return tuple(self._open) or (self._rest,)


class _Off:
    """Where nobody keeps a timeline."""

    step = 0
    _NOTHING = contextlib.nullcontext()

    def span(self, name):
        return self._NOTHING

    def beside(self, name):
        return self._NOTHING

    def begin_step(self, number):
        pass

    def end_step(self):
        pass

    def was(self, name):
        pass

    def drop_step(self):
        pass

    def stands(self, group, place):
        pass


OFF = _Off()


class _Named(dict):
    """The contexts of the names."""

    def __init__(self, timeline):
        super().__init__()
        self._timeline = timeline

    def __missing__(self, name):
        self[name] = _Span(self._timeline, name)
        return self[name]


class _Span:
    def __init__(self, timeline, name):
        self._timeline, self._name = timeline, name

    def __enter__(self):
        self._timeline._enter(self._name)

    def __exit__(self, *_):
        self._timeline._leave()


class _Beside:
    def __init__(self, timeline, name):
        self._timeline, self._name, self._step = timeline, name, timeline.step

    def __enter__(self):
        self._begun = self._timeline._now()

    def __exit__(self, *_):
        self._timeline._lap.beside.append((self._name, self._step, self._begun, self._timeline._now()))


class _Messenger:
    """Hands spans on, on a thread of its own, and what is left when the process ends."""

    def __init__(self, socket, lap, activity, now):
        self._socket, self._activity, self._now = socket, activity, now
        self._laps = deque([lap])
        self._unsent = None  # a piece that was made
        self._told, self._told_at, self._patience_s = None, 0, HAND_ON_EVERY_S
        self._ended, self._process = threading.Event(), os.getpid()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def add(self, lap):
        if self._thread.is_alive():
            self._laps.append(lap)

    def _work(self):
        while not self._ended.wait(HAND_ON_EVERY_S):
            try:
                self._hand_on()
            except ValueError:
                self._laps.clear()
                return  # Paceline takes none
            except OSError:
                pass  # a training does not depend on who watches it

    def _end(self):
        if os.getpid() != self._process:
            return
        self._ended.set()
        self._thread.join(LAST_WORD_S)
        if not self._thread.is_alive():
            with contextlib.suppress(OSError, ValueError):
                self._hand_on(ended=True)

    def _hand_on(self, ended=False):
        """Raises what WorkerSocket.hand_on_timeline() does: what was not taken is handed on next time."""
        self._send()
        while self._laps and self._laps[0].place:
            lap, newest = self._laps[0], len(self._laps) == 1
            while lap.spans or lap.beside or (newest and self._is_due()):
                self._send(self._piece(lap, self._activity if newest else tuple))
            if not newest:
                self._laps.popleft()
                continue
            if ended:
                self._send({**self._piece(lap, tuple), "ended": True})
            return

    def _send(self, piece=None):
        self._unsent = piece or self._unsent
        if self._unsent:
            self._socket.hand_on_timeline(self._unsent)
            self._unsent = None

    def _is_due(self):
        """No span ended since the last piece. What goes on is told all the same, the longer it lasts the more seldom."""
        patience_s = self._patience_s if self._told == self._activity() else HAND_ON_EVERY_S
        return self._now() - self._told_at >= patience_s * 1e9

    def _piece(self, lap, activity):
        spans, beside = _taken(lap.spans), _taken(lap.beside)
        activity = activity()  # after them, or it might tell of one that ended as if it went on
        at = self._now()
        unchanged = self._told == activity and not spans
        self._patience_s = min(self._patience_s * 2, QUIET_MAX_S) if unchanged else HAND_ON_EVERY_S
        self._told, self._told_at = activity, at
        first = min([at, *(each[2] for each in (*spans, *beside, *activity))]) // 1000
        return {**lap.place, "from_us": first, "at_us": at // 1000 - first, "ended": False,
                "open": [[name, step, begun // 1000 - first] for name, step, begun in activity],
                "spans": _in_us(spans, first), "beside": _in_us(beside, first)}


def _taken(spans):
    return [spans.popleft() for _ in range(min(len(spans), PIECE_SPANS))]


def _in_us(spans, first):
    """Those of a microsecond or more. Both ends are cut alike, so that what met still meets."""
    cut = [(name, step, begun // 1000, ended // 1000) for name, step, begun, ended in spans]
    return [[name, step, begun - first, ended - begun] for name, step, begun, ended in cut if ended > begun]
