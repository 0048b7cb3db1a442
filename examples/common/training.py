"""The elastic loop: hands out batches, and between two of them reports, evaluates, checkpoints and stops.

    training = Training(worker, options, net, optimizer, samples=len(train_set), held_out=len(test_set),
                        evaluate=evaluate)
    for batch in training:
        loss = F.cross_entropy(training.model(x[batch.indices]), y[batch.indices], reduction="sum")
        optimizer.zero_grad()
        training.mean_over_workers(loss).backward()
        optimizer.step()
    return training.exit_code

The global batch is fixed and the order of samples depends on the position alone. So a checkpoint taken with
any number of workers goes on with any other at the same sample, and with the same number it gives the same
weights, bit for bit, as a training that was never interrupted (on CPUs).
"""

import math
import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch

from common.attendant import EXIT_REQUEUE
from common.checkpoint import find_checkpoint, load_checkpoint, make_folder, save_checkpoint
from common.errors import UserError
from common.launch import attendant
from common.order import SampleOrder, share
from common.report import report

EVALUATE_AT_ONCE = 128
WARMUP = 0.03  # share of the training in which the learning rate rises
NOTICE, STOP, EVALUATE, CHECKPOINT, LOSS, WIDTH = range(6)


@dataclass
class Batch:
    """This worker's part of one global batch. `indices` (int64) is never empty."""
    indices: np.ndarray
    start: int  # position of the global batch
    first: int  # of this part, within the global batch
    count: int  # samples in the global batch
    weight: float  # 0 where there are more workers than samples and this one repeats a neighbour's


class Training:
    """REQUIRES: every worker makes it with equal arguments.

    `evaluate(indices)` returns {name: sum over those held-out samples} as tensors; it runs without gradients.
    """

    def __init__(self, worker, options, net, optimizer, samples, held_out, evaluate, data_id=0):
        self.exit_code = 0
        self._worker, self._options, self._net, self._optimizer = worker, options, net, optimizer
        self._evaluate = evaluate
        self._order = SampleOrder(samples, options.seed)
        self._total = max(1, round(samples * options.epochs))
        self._total_steps = math.ceil(self._total / options.batch)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self._learning_rate_factor)
        self._settings = {"seed": options.seed, "batch": options.batch, "epochs": options.epochs,
                          "samples per epoch": samples, "data": data_id}
        count = min(options.held_out, held_out)
        self._held_out = np.arange(count) * held_out // count
        self._step = self._samples = 0
        self._saved = None  # position of the newest checkpoint
        self._metrics = {}
        self._resume()
        self.model = worker.parallel(net)
        self._timers = _Timers(options, resumed=self._samples > 0)

    def __iter__(self):
        attendant.training = True
        if self._worker.rank == 0:
            attendant.ask(os.environ.get("PACELINE_SOCKET"))
        while self._samples < self._total:
            batch = self._next_batch()
            yield batch
            signals = self._finish(batch)
            if signals[STOP] and self._samples < self._total:
                self._end("Told to stop")
                return
            if signals[NOTICE] and self._samples < self._total:
                self._give_way()
                return
        self._end("Finished")

    def mean_over_workers(self, loss):
        """Returns what to differentiate, given this part's `loss` summed over its samples.

        DDP averages gradients over workers; scaled like this, the average is the gradient of the mean loss
        over the global batch however unevenly it was split. The loss and the wishes of all workers (stop,
        evaluate, …) travel with the gradients, so that all act on them after the same step.
        """
        batch = self._batch
        self._worker.exchange[LOSS] = loss.detach() * (batch.weight > 0)
        return loss * batch.weight

    def _next_batch(self):
        self._timers.begin_step()
        count = min(self._options.batch, self._total - self._samples)
        first, stop = share(count, self._worker.rank, self._worker.size)
        weight = self._worker.size / count if stop > first else 0.0
        if weight == 0.0:
            first, stop = 0, 1
        indices = self._order.indices(self._samples + first, self._samples + stop)
        self._worker.exchange = torch.tensor(self._wishes(), device=self._worker.device)
        self._batch = Batch(indices, self._samples, first, count, weight)
        return self._batch

    def _wishes(self):
        wishes = [0.0] * WIDTH
        wishes[NOTICE] = float(attendant.notice is not None)
        if self._worker.rank == 0:
            wishes[STOP] = float(attendant.should_stop)
            wishes[EVALUATE] = float(self._timers.evaluate.is_due())
            wishes[CHECKPOINT] = float(self._timers.checkpoint.is_due())
        return wishes

    def _finish(self, batch):
        self._schedule.step()
        agreed = self._worker.exchange.tolist()
        attendant.alive()
        self._step += 1
        self._samples += batch.count
        self._timers.add(agreed[LOSS], batch.count)
        if agreed[EVALUATE]:
            self._measure()
        if agreed[EVALUATE] or self._timers.report.is_due() and not self._timers.evaluate.is_due():
            self._report()
        if agreed[CHECKPOINT] and not agreed[NOTICE]:
            self._checkpoint()
        return agreed

    def _measure(self):
        first, stop = share(len(self._held_out), self._worker.rank, self._worker.size)
        totals = {}
        self._net.eval()
        with torch.no_grad():
            for part in np.array_split(self._held_out[first:stop], max(1, (stop - first) // EVALUATE_AT_ONCE)):
                for name, value in self._evaluate(part).items():
                    totals[name] = totals.get(name, 0.0) + value.double()
        self._net.train()
        values = self._worker.sum(torch.stack(list(totals.values())))
        self._metrics = dict(zip(totals, (values / len(self._held_out)).tolist()))
        attendant.alive()
        self._timers.evaluate.restart()

    def _report(self):
        if self._worker.rank == 0:
            report(step=self._step, total_steps=self._total_steps, samples=self._samples,
                   epoch=self._samples / self._order.size, total_epochs=self._options.epochs,
                   learning_rate=self._optimizer.param_groups[0]["lr"], **self._timers.take(), **self._metrics)
        self._metrics = {}

    def _checkpoint(self):
        """Returns whether there is now a checkpoint of this very step."""
        if self._worker.rank > 0 or not self._options.checkpoint_dir:
            return False
        if self._saved == self._samples:
            return True
        try:
            path = save_checkpoint(self._options.checkpoint_dir, self._samples, {
                "step": self._step, "epoch": self._samples // self._order.size, "seed": self._options.seed,
                "settings": self._settings, "model": self._net.state_dict(),
                "optimizer": self._optimizer.state_dict(), "schedule": self._schedule.state_dict()})
        except OSError as error:
            _say(f"Can't write a checkpoint to {self._options.checkpoint_dir}: {error.strerror}; "
                 "the training goes on, free some room.")
            return False
        finally:
            self._timers.checkpoint.restart()
        report(checkpoint=str(path), step=self._step, samples=self._samples)
        self._saved = self._samples
        return True

    def _give_way(self):
        name = signal.Signals(attendant.notice or signal.SIGTERM).name
        saved = self._checkpoint()
        if self._worker.rank == 0:
            _say(f"{name}: stopped after sample {self._samples}" +
                 (", checkpoint saved." if saved else ", nothing saved."))
        self._worker.meet()
        can_resume = bool(self._options.checkpoint_dir)
        self.exit_code = EXIT_REQUEUE if can_resume else 128 + (attendant.notice or signal.SIGTERM)

    def _end(self, why):
        self._measure()
        self._checkpoint()
        self._report()
        if self._worker.rank == 0:
            _say(f"{why} after sample {self._samples}.")
        self._worker.meet()

    def _resume(self):
        folder = self._options.checkpoint_dir
        if folder:
            make_folder(folder)
        path = self._worker.from_first(find_checkpoint(folder) if self._worker.rank == 0 else None)
        if path is not None:
            self._restore(path, load_checkpoint(path))
        if self._worker.rank == 0:
            _say(f"Training from sample {self._samples} of {self._total} with {self._worker.size} "
                 f"worker(s)" + (f", resumed from {path}." if path else "."))

    def _restore(self, path, state):
        for name, value in self._settings.items():
            if state["settings"].get(name) != value:
                raise UserError(f"{path} was trained with {name} {state['settings'].get(name)}, now it is "
                                f"{value}; use the same again or another --checkpoint-dir")
        self._net.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self._step, self._samples = state["step"], state["samples"]
        self._saved = self._samples

    def _learning_rate_factor(self, step):
        """Rises at first, then falls in a straight line to a twentieth."""
        done = step / self._total_steps
        return min(1.0, (step + 1) / (WARMUP * self._total_steps)) * (1.0 - 0.95 * min(1.0, done))


class _Timer:
    def __init__(self, period_s, first_s):
        self._period_s = period_s
        self._due_at = time.monotonic() + first_s

    def is_due(self):
        return time.monotonic() >= self._due_at

    def restart(self):
        self._due_at = time.monotonic() + self._period_s


class _Timers:
    """When what is due, and what has gathered since the last report."""

    def __init__(self, options, resumed):
        self.report = _Timer(options.report_every, 0.0)
        self.evaluate = _Timer(options.evaluate_every, options.evaluate_every)
        # A fresh training can be resized once it has a checkpoint, so it gets one at once.
        self.checkpoint = _Timer(options.checkpoint_every, options.checkpoint_every if resumed else 0.0)
        self._begun_at = 0.0
        self._clear()

    def begin_step(self):
        self._begun_at = time.monotonic()

    def add(self, loss, samples):
        """Ends the step; evaluations and checkpoints lie between steps."""
        self._seconds += time.monotonic() - self._begun_at
        self._loss += loss
        self._samples += samples
        self._steps += 1

    def take(self):
        values = {}
        if self._steps:
            values = {"train_loss": self._loss / self._samples, "step_seconds": self._seconds / self._steps}
        self._clear()
        self.report.restart()
        return values

    def _clear(self):
        self._seconds, self._loss, self._samples, self._steps = 0.0, 0.0, 0, 0


def _say(sentence):
    print(sentence, file=sys.stderr, flush=True)
