"""Beside the training: takes the stop signal, and asks Paceline whether to stop.

Signals are read from a descriptor by a thread of its own, since a handler in Python runs only between
two bytecodes of the main thread, which may sit in an operation of the group for as long as a peer lets it.
"""

import contextlib
import os
import signal
import sys
import threading
import time
import traceback

ASK_EVERY_S = 1.0
SLICE_S = 0.1  # of a wait
FRAMES_MAX, STACKS_MAX = 64, 30 << 10  # of a thread; bytes, of which JSON may make twice as many
EXIT_REQUEUE = 75  # EX_TEMPFAIL of sysexits.h: start me again


def _forget():
    # What a loader's worker is told is none of this process's business.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _stacks():
    """The Python stacks of all threads but this one, as of now; the main thread's first."""
    names = {each.ident: each.name for each in threading.enumerate()}
    frames = {ident: frame for ident, frame in sys._current_frames().items() if ident != threading.get_ident()}
    text = []
    for ident in sorted(frames, key=lambda each: each != threading.main_thread().ident):
        stack = "".join(traceback.format_list(traceback.extract_stack(frames[ident])[-FRAMES_MAX:]))
        text.append(f"{names.get(ident, ident)} (most recent call last):\n{stack}")
    return "".join(text).encode("ascii", "backslashreplace")[:STACKS_MAX].decode()


class Attendant:
    """`notice`: the number of the signal that asked this worker to make room, or None.
    `should_stop`: Paceline says that the model is good enough.

    `next`: what becomes of this worker in its gang's next generation, as soon as it can: {"generation": G, "environment": E},
    E being that of its place there, or None where it leaves. Else None. `hears`: it would be told.

    Before `training` is set a notice ends the process at once: there is nothing to save.
    """

    def __init__(self, worker_socket=None):
        self.notice = None
        self.should_stop = False
        self.training = False
        self._socket = worker_socket
        self._ended = threading.Event()
        self._asks = None
        self.next, self.hears = None, False
        self._said = {}
        self._news = threading.Condition()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self.take_signal()
        os.register_at_fork(after_in_child=_forget)
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()

    def take_signal(self):
        """No other handler of SIGTERM acts from now on. REQUIRES: the main thread."""
        signal.signal(signal.SIGTERM, lambda *_: None)  # what matters comes through the descriptor

    def ask(self):
        """From now on asks Paceline once a second, where there is one."""
        if self._socket and not self._asks:
            self._asks = threading.Thread(target=self._ask, daemon=True)
            self._asks.start()

    def hear_of_generations(self):
        """From now on hears what becomes of the gang."""
        if self._socket:
            self.hears = True
            threading.Thread(target=self._hear, daemon=True).start()

    def say_of_gang(self, **said):
        """`ready`: the generation that this worker can join; `stands`: the one of which it has met all ranks. Said again
        where Paceline doesn't know it any more."""
        self._said.update(said)
        if self.hears:
            with contextlib.suppress(OSError):
                self._socket.say_of_gang(**said)

    def wait_for(self, generation, seconds, unless_noticed=False):
        """`next`, once it is of that generation or a later one; None: it was not heard of in time, or before a notice
        came, which `unless_noticed` ends the waiting. Time in which this process was stopped doesn't count."""
        def told():
            return self.knows_of(generation) or (unless_noticed and self.notice)

        waited = 0.0
        with self._news:
            while waited < seconds:
                begun = time.monotonic()
                if self._news.wait_for(told, min(SLICE_S, seconds - waited)):
                    break
                waited += min(time.monotonic() - begun, 2 * SLICE_S)  # what took longer was not waited through
            return self.next if self.knows_of(generation) else None

    def knows_of(self, generation):
        """Of that one, or of a later one? Who leaves with an earlier one is told of no later one."""
        return self.next is not None and (self.next["generation"] >= generation or self.next["environment"] is None)

    def end(self):
        self._ended.set()

    def _listen(self, reading):
        while numbers := os.read(reading, 64):
            if signal.SIGTERM not in numbers:
                continue
            if not self.training:
                os._exit(EXIT_REQUEUE)
            with self._news:
                self.notice = signal.SIGTERM
                self._news.notify_all()

    def _hear(self):
        version, asked = 0, 0
        while not self._ended.is_set():
            try:
                version, found, known, stacks = self._socket.gang_news(version)
                if any(known[name] != said for name, said in self._said.items()):
                    self._socket.say_of_gang(**self._said)
            except (OSError, KeyError, ValueError):
                self._ended.wait(ASK_EVERY_S)
                continue
            with self._news:
                self.next = found or self.next
                self._news.notify_all()
            if stacks > asked:
                with contextlib.suppress(OSError):  # whoever asked is told that there was no answer
                    self._socket.tell_stacks(_stacks())
            asked = stacks

    def _ask(self):
        while not self.should_stop and not self._ended.wait(ASK_EVERY_S):
            try:
                reason = self._socket.reason_to_stop()
            except OSError:
                continue  # a training does not depend on who watches it
            if reason == "notice":
                self.notice = self.notice or signal.SIGTERM
            elif reason:
                self.should_stop = True
