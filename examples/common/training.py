"""The elastic loop: hands out batches; between two it reports, evaluates, checkpoints and stops.

    training = Training(worker, options, net, optimizer, evaluate, samples=len(train_set),
                        held_out=len(test_set), data_id=train_set.data_id())
    for batch in training:
        scores = training.model(images[batch.indices])
        loss = F.cross_entropy(scores, classes[batch.indices], reduction="sum")
        optimizer.zero_grad()
        training.mean_over_workers(loss).backward()
        optimizer.step()
    return training.exit_code

The global batch is fixed and what comes when depends on the position alone. So a checkpoint taken
with any number of workers goes on with any other at the same sample; with the same number, on CPUs,
it gives the same weights, bit for bit, as a training that was never interrupted.
"""

import math
import os
import signal
import sys
from dataclasses import dataclass

import numpy as np
import torch

from common.attendant import EXIT_REQUEUE
from common.checkpoint import find_checkpoint, load_checkpoint, make_folder, save_checkpoint
from common.errors import UserError
from common.launch import attendant
from common.order import SampleOrder, evenly_spaced, share
from common.report import report
from common.schedule import learning_rate_factor
from common.timers import Pace, Timer

EVALUATE_AT_ONCE = 128  # samples
NOTICE, STOP, EVALUATE, CHECKPOINT, LOSS, WIDTH = range(6)  # what workers exchange at each step


@dataclass
class Batch:
    """This worker's part of a global batch."""
    indices: np.ndarray  # int64, never empty
    start: int  # position of the global batch in the training
    first: int  # of this part in the global batch
    count: int  # samples in the global batch
    weight: float  # 0 if all samples went to others and this part only repeats one


class Training:
    """REQUIRES: every worker makes it with equal arguments.

    `evaluate(indices)` returns {name: sum over those held-out samples} as tensors; it is called
    without gradients. `samples` and `held_out` are the sizes of the two sets, `data_id` is a number
    by which a checkpoint knows its data again. Raises UserError if the checkpoint does not fit.
    """

    def __init__(self, worker, options, net, optimizer, evaluate, samples, held_out, data_id):
        self.exit_code = 0
        self._worker, self._options, self._evaluate = worker, options, evaluate
        self._net, self._optimizer = net, optimizer
        self._order = SampleOrder(samples, options.seed)
        self._total = max(1, round(samples * options.epochs))
        self._total_steps = math.ceil(self._total / options.batch)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: learning_rate_factor(step, self._total_steps))
        self._settings = {"seed": options.seed, "batch": options.batch, "epochs": options.epochs,
                          "samples per epoch": samples, "data": data_id}
        self._held_out = evenly_spaced(options.held_out, held_out)
        self._step = self._samples = 0
        self._saved = None  # position of the newest checkpoint
        self._metrics = {}
        self._pace = Pace()
        self._resume()
        self.model = worker.parallel(net)
        self._start_timers()

    def __iter__(self):
        attendant.training = True
        if self._worker.rank == 0:
            attendant.ask(os.environ.get("PACELINE_SOCKET"))
        while self._samples < self._total:
            batch = self._next_batch()
            yield batch
            agreed = self._finish(batch)
            if self._samples == self._total:
                break
            if agreed[STOP]:
                return self._end("Told to stop")
            if agreed[NOTICE]:
                return self._give_way()
        self._end("Finished")

    def mean_over_workers(self, loss):
        """Returns what to differentiate, given `loss` summed over this worker's part of the batch.

        DDP averages gradients over workers; scaled like this, the average is the gradient of the
        mean loss over the global batch, however unevenly it was split. The loss and what workers
        wish for travel with the gradients, so that all act on a wish after the same step.
        """
        self._worker.exchange[LOSS] = loss.detach() * (self._batch.weight > 0)
        return loss * self._batch.weight

    def _next_batch(self):
        self._pace.begin_step()
        count = min(self._options.batch, self._total - self._samples)
        first, stop = share(count, self._worker.rank, self._worker.size)
        weight = self._worker.size / count if first < stop else 0.0
        if first == stop:
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
            wishes[EVALUATE] = float(self._evaluate_timer.is_due())
            wishes[CHECKPOINT] = float(self._checkpoint_timer.is_due())
        return wishes

    def _finish(self, batch):
        agreed = self._worker.exchange.tolist()
        attendant.alive()
        self._schedule.step()
        self._step += 1
        self._samples += batch.count
        self._pace.end_step(agreed[LOSS], batch.count)
        if agreed[EVALUATE]:
            self._measure()
            self._report()
        elif self._report_timer.is_due() and not self._evaluate_timer.is_due():
            self._report()
        if agreed[CHECKPOINT] and not agreed[NOTICE]:
            self._checkpoint()
        return agreed

    def _measure(self):
        """Evaluates the held-out samples, split over the workers."""
        first, stop = share(len(self._held_out), self._worker.rank, self._worker.size)
        mine = self._held_out[first:stop] if first < stop else self._held_out[:1]
        sums = {}
        self._net.eval()
        with torch.no_grad():
            for part in np.array_split(mine, math.ceil(len(mine) / EVALUATE_AT_ONCE)):
                for name, value in self._evaluate(part).items():
                    sums[name] = sums.get(name, 0.0) + value.double() * (first < stop)
        self._net.train()
        totals = self._worker.sum(torch.stack(list(sums.values()))).tolist()
        self._metrics = {name: total / len(self._held_out) for name, total in zip(sums, totals)}
        attendant.alive()
        self._evaluate_timer.restart()

    def _report(self):
        values = {**self._pace.take(), **self._metrics}
        self._metrics = {}
        self._report_timer.restart()
        if self._worker.rank == 0:
            report(step=self._step, total_steps=self._total_steps, samples=self._samples,
                   epoch=self._samples / self._order.size, total_epochs=self._options.epochs,
                   learning_rate=self._optimizer.param_groups[0]["lr"], **values)

    def _checkpoint(self):
        """Returns whether there is a checkpoint of this very position."""
        if self._worker.rank > 0 or not self._options.checkpoint_dir:
            return False
        if self._saved == self._samples:
            return True
        self._checkpoint_timer.restart()
        try:
            path = save_checkpoint(self._options.checkpoint_dir, self._samples, self._state())
        except OSError as error:
            _say(f"Can't write a checkpoint to {self._options.checkpoint_dir}: {error.strerror}; "
                 "the training goes on, make room there.")
            return False
        self._saved = self._samples
        report(checkpoint=str(path), step=self._step, samples=self._samples)
        return True

    def _state(self):
        return {"step": self._step, "epoch": self._samples // self._order.size,
                "seed": self._options.seed, "settings": self._settings,
                "model": self._net.state_dict(), "optimizer": self._optimizer.state_dict(),
                "schedule": self._schedule.state_dict()}

    def _give_way(self):
        number = attendant.notice or signal.SIGTERM  # on this worker it may not have come yet
        saved = self._checkpoint()
        if self._worker.rank == 0:
            _say(f"{signal.Signals(number).name}: stopped after sample {self._samples}, "
                 f"{'checkpoint' if saved else 'nothing'} saved.")
        self._worker.meet()
        self.exit_code = EXIT_REQUEUE if self._options.checkpoint_dir else 128 + number

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
        if path:
            self._restore(path, load_checkpoint(path))
        if self._worker.rank == 0:
            _say(f"Training from sample {self._samples} of {self._total} with {self._worker.size} "
                 f"worker(s){f', resumed from {path}' if path else ''}.")

    def _restore(self, path, state):
        for name, value in self._settings.items():
            saved = state["settings"].get(name)
            if saved != value:
                raise UserError(f"{path} was trained with {name} {saved}, now it is {value}; use "
                                "the same again or another --checkpoint-dir")
        self._net.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self._step, self._samples = state["step"], state["samples"]
        self._saved = self._samples

    def _start_timers(self):
        options = self._options
        self._report_timer = Timer(options.report_every, 0.0)
        self._evaluate_timer = Timer(options.evaluate_every, options.evaluate_every)
        # A fresh training can be resized once it has a checkpoint, so it takes the first at once.
        first_s = options.checkpoint_every if self._samples else 0.0
        self._checkpoint_timer = Timer(options.checkpoint_every, first_s)


def _say(sentence):
    print(sentence, file=sys.stderr, flush=True)
