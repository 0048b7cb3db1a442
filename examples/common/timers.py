"""When a training is due to report, evaluate and checkpoint."""

import time


class Timer:
    """Due `first_s` seconds after it was made, then `period_s` seconds after each restart()."""

    def __init__(self, period_s, first_s):
        self._period_s = period_s
        self._due_at = time.monotonic() + first_s

    def is_due(self):
        return time.monotonic() >= self._due_at

    def restart(self):
        self._due_at = time.monotonic() + self._period_s


class Pace:
    """Loss and time per step since the last report; what lies between steps does not count."""

    def __init__(self):
        self._begun_at = 0.0
        self._clear()

    def begin_step(self):
        self._begun_at = time.monotonic()

    def end_step(self, loss, samples):
        """`loss` is the sum over the step's `samples`."""
        self._seconds += time.monotonic() - self._begun_at
        self._loss += loss
        self._samples += samples
        self._steps += 1

    def take(self):
        """Returns the values to report, and starts again."""
        values = {}
        if self._steps:
            values = {"train_loss": self._loss / self._samples,
                      "step_seconds": self._seconds / self._steps}
        self._clear()
        return values

    def _clear(self):
        self._seconds, self._loss, self._samples, self._steps = 0.0, 0.0, 0, 0
