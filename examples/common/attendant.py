"""Beside the training: takes the stop signal, asks whether to stop, ends a worker that is stuck.

It lives in threads of its own because a signal handler in Python runs only between two bytecodes of
the main thread, which may sit in a rendezvous or an all-reduce for as long as a peer lets it.
"""

import os
import signal
import sys
import threading
import time

from common.should_stop import ask_should_stop

EXIT_FAILED = 1
EXIT_REQUEUE = 75  # EX_TEMPFAIL of sysexits.h: start me again
TICK_S = 0.5
ASK_EVERY_S = 1.0


class Attendant:
    """REQUIRES: made before any other thread, so that all threads leave the signals to this one's.

    `notice` is None, or the number of the signal that asked this worker to make room.
    `should_stop` turns true when the worker socket says that the model is good enough. The training
    loop reads both, and sets `training` when it begins.
    """

    def __init__(self):
        self.notice = None
        self.should_stop = False
        self.training = False
        self._socket = None
        self._asked_at = 0.0
        self._idle_s = 0.0
        self._patience_s = None
        self._signals = {signal.SIGTERM}
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # our parent minds it
            self._signals.add(signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        # Not sigtimedwait in one thread: after SIGCONT Python 3.11's returns a made-up signal.
        for work in (self._listen, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def watch(self, patience_s):
        """From now on the process fails when `patience_s` pass without a call of alive()."""
        self._idle_s = 0.0
        self._patience_s = patience_s

    def alive(self):
        """The main thread has got on."""
        self._idle_s = 0.0

    def ask(self, socket_path):
        """From now on asks the worker socket once a second whether to stop; None: there is none."""
        self._socket = socket_path

    def _listen(self):
        while True:
            number = signal.sigwait(self._signals)
            if not self.training:
                os._exit(EXIT_REQUEUE)
            if self.notice == signal.SIGINT == number:
                os._exit(128 + number)
            self.notice = number

    def _watch(self):
        before = time.monotonic()
        while True:
            time.sleep(TICK_S)
            now = time.monotonic()
            # A worker that was frozen for an hour has not been stuck for an hour.
            self._idle_s += min(now - before, 2 * TICK_S)
            before = now
            self._check_patience()
            self._ask_if_due(now)

    def _check_patience(self):
        if self._patience_s is not None and self._idle_s > self._patience_s:
            print(f"No progress for {self._patience_s:g} s: a peer hangs or is out of reach. Start "
                  "the job again to go on from its last checkpoint.", file=sys.stderr, flush=True)
            os._exit(EXIT_REQUEUE if self.notice else EXIT_FAILED)

    def _ask_if_due(self, now):
        if self._socket and not self.should_stop and now - self._asked_at >= ASK_EVERY_S:
            self._asked_at = now
            reason = ask_should_stop(self._socket)
            if reason == "notice":
                self.notice = self.notice or signal.SIGTERM
            elif reason is not None:
                self.should_stop = True
