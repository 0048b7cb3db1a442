"""A training that any number of ranks share: docs/runtime.md shows how a script uses it."""

import io
import itertools
import math
import signal
import sys
import time
from dataclasses import dataclass

import torch

from paceline import chance, state
from paceline.attendant import EXIT_REQUEUE
from paceline.carried import Pieces, carry_optimizer, carry_scheduler
from paceline.checkpoint import Folder, go_on
from paceline.errors import GroupError, PacelineError
from paceline.exact import ExactGradients, Seeded
from paceline.gradients import Gradients
from paceline.group import MAX, SUM
from paceline.loading import loader_of
from paceline.order import Order, pieces, share
from paceline.report import report
from paceline.sharing import share_state

REPORT_EVERY_S = 1.0
HEARD_WITHIN_S = 30.0  # of a generation that another rank has heard of
NOTICE, STOP, REPORT, CHECKPOINT, GENERATION, RATE, LESS_RATE = range(7)  # what ranks exchange at a boundary


@dataclass
class _Distributed:
    model: torch.nn.Module
    gradients: object = None  # Gradients or ExactGradients, once it is known which


@dataclass
class _Share:
    """What this rank computes of a global batch."""
    count: int  # samples of the global batch
    position: int  # of its first, in the epoch
    first: int  # which part of the global batch is this rank's first
    parts: list  # of indices
    counts: bool


@dataclass
class _Step:
    """The global batch under way."""
    count: int  # samples
    left: int  # pieces that this rank has not finished


class Job:
    """Made by paceline.init(). Every rank makes the same calls in the same order.

    `rank`, `size`, `local_rank`, `generation`: this process's place, which may change in step().
    `device`: where this rank computes, a GPU of its own where there is one.
    `should_stop` turns true on all ranks in the same step, when Paceline says that the model is good enough.
    `steps`: how many global batches the training has seen.
    """

    def __init__(self, ranks, attendant, joins=False):
        self._ranks, self._joins = ranks, joins  # joins: the others train already
        self.device = _device(self.local_rank)
        self.should_stop = False
        self._attendant = attendant
        self._resized = []  # what to call after resizes
        self._pieces = Pieces()
        self._distributed, self._carried, self._optimizers = [], [], []
        self._exact = None  # which kind of gradients
        self._order = self._step = None
        self._agreeing = None  # what ranks agree on, on its way, and what waits for it
        self._part = 0  # samples of the piece under way
        self._epoch = self._total_epochs = 0
        self._resumed = None  # the order's state in the checkpoint, until batches() knows the data
        self.steps = self._samples = 0
        self._folder, self._every, self._saved_at, self._saved = None, math.inf, 0.0, None
        self._loss = [0.0, 0]  # sum over samples, samples, since the last report
        self._reported_at, self._reported_steps = time.monotonic(), 0
        self._begun_at = self._seconds = 0.0  # of the step under way; of those since the last report

    @property
    def rank(self):
        return self._ranks.place.rank

    @property
    def size(self):
        return self._ranks.place.size

    @property
    def local_rank(self):
        return self._ranks.place.local_rank

    @property
    def generation(self):
        return self._ranks.place.generation

    @property
    def _group(self):
        return self._ranks.group

    # ---- what is trained ----

    def distribute(self, model, *carried):
        """Makes the model train on all ranks, and returns what it was given.

        Every rank starts from rank 0's parameters. When the backward() of a global batch returns,
        gradients are the mean over its samples. `carried`: optimizers, schedulers and whatever else has a
        state_dict() and belongs into checkpoints; optimizers and schedulers act once per global batch.
        Raises PacelineError where ranks built different models.
        """
        state.check_model(model)
        if self.size > 1 and not self._joins:
            state.compare(self._group, model)
            state.share_model(self._group, model)
        distributed = _Distributed(model)
        self._distributed.append(distributed)
        for each in carried:
            self._carry(each, distributed)
        return (model, *carried) if carried else model

    @property
    def _models(self):
        return [each.model for each in self._distributed]

    def _carry(self, each, distributed):
        if isinstance(each, torch.optim.Optimizer):
            self._optimizers.append(each)
            carry_optimizer(each, self._pieces, lambda: self._before_update(distributed))
        elif hasattr(each, "step") and hasattr(each, "optimizer"):
            carry_scheduler(each, self._pieces)
        elif not hasattr(each, "state_dict"):
            raise PacelineError(f"A {type(each).__name__} can't be carried: it has no state_dict().")
        self._carried.append(each)

    # What ranks agree on travels while parameters are updated.
    def _before_update(self, distributed):
        distributed.gradients.finish()
        if self.size > 1 and not self._agreeing:
            wishes = self._wishes()
            self._agreeing = wishes, self._group.start_all_reduce(wishes, MAX)

    def checkpoint(self, folder, every=60.0):
        """Keeps checkpoints in `folder`, at most one every so many seconds and one before giving way, and
        goes on from the newest: call it after distribute(). Raises PacelineError.
        """
        self._folder, self._every = Folder(folder), every
        if self._joins:
            return
        saved, path = go_on(self._group, self._folder)
        if saved is not None:
            self._restore(saved, path)
        # A fresh training can be resized once it has a checkpoint, so it takes the first at once.
        self._saved_at = time.monotonic() if saved is not None else -math.inf

    # ---- the loop ----

    def epochs(self, count):
        """The numbers of the epochs that are left of `count`."""
        self._join()
        self._total_epochs = count
        while self._epoch < count:
            yield self._epoch
            self._epoch += 1

    def batches(self, data, global_batch_size, max_local=None, seed=0, shuffle=True, drop_last=False, micro=None,
                exact=False):
        """This rank's pieces of the global batches of this epoch, from where the training stands.

        `data`: a dataset with len() and [], or a DataLoader over one, whose collate_fn, workers and pinning
        are kept. A piece has at most `max_local` samples. Every sample comes once an epoch, whatever the
        number of ranks. The order depends on `seed` and the epoch alone.

        `micro`: the pieces are micro-batches of so many samples instead, whatever the number of ranks, and what
        is drawn by chance in them belongs to the sample or the micro-batch. `exact`: their gradients are summed
        in their order, too, so that on CPUs weights are the same bits on any number of ranks.
        """
        if exact and not micro:
            raise PacelineError("exact=True needs micro=: the number of samples of a micro-batch, which stays the same "
                                "on any number of ranks")
        self._join()
        self._prepare(exact)
        loader = loader_of(data, lambda dataset: Seeded(dataset, seed, self._epoch) if micro else dataset)
        self._begin_order(Order(loader.length, global_batch_size, seed, shuffle, drop_last))
        self._attendant.training = True
        generation = None
        while generation != self.generation:
            generation = self.generation
            if self.rank == 0:
                self._attendant.ask()
            yield from self._batches(loader, seed, max_local, micro, generation)

    def _batches(self, loader, seed, max_local, micro, generation):
        """Those of this generation's ranks, to the end of the epoch or of the generation."""
        # What a DataLoader fetches ahead is planned by the same plan, further on.
        plan, ahead = itertools.tee(self._plan(max_local, micro))
        loaded = loader.load(part for share_of_it in ahead for part in share_of_it.parts)
        for share_of_it in plan:
            self._begun_at = time.monotonic()
            self._step = _Step(share_of_it.count, len(share_of_it.parts))
            self._pieces.between = False
            for number, part in enumerate(share_of_it.parts, share_of_it.first):
                self._pieces.last = self._step.left == 1
                self._part = len(part) if share_of_it.counts else 0
                for each in self._distributed:
                    each.gradients.begin(self._part / share_of_it.count)
                before = self._step.left
                batch = next(loaded)
                if micro:
                    chance.seed_all(seed, self._epoch, share_of_it.position, number)
                yield batch
                if self._step and self._step.left == before:
                    raise PacelineError("job.step() was not called for the last batch: call it once for each, "
                                        "after optimizer.step()")
            if self.generation != generation:
                return

    def _prepare(self, exact):
        if self._exact not in (None, exact):
            raise PacelineError("A training is exact as a whole, or not at all: pass the same exact= to every batches()")
        self._exact = exact
        for each in self._distributed:
            if each.gradients is None:
                kind = ExactGradients if exact else Gradients
                each.gradients = kind(each.model, self._ranks, self._pieces)

    def _plan(self, max_local, micro):
        """This rank's shares of the global batches from here to the end of the epoch."""
        order = self._order.copy()
        while indices := order.next():
            position = order.position
            order.step(len(indices))
            if micro:
                parts = [indices[i:i + micro] for i in range(0, len(indices), micro)]
                mine = share(len(parts), self.rank, self.size)
                first, parts = mine.start, parts[mine.start:mine.stop]
            else:
                mine = share(len(indices), self.rank, self.size)
                first, parts = 0, pieces(indices[mine.start:mine.stop], max_local or len(indices))
            # A rank that gets none computes what others do; it counts for nothing.
            yield _Share(len(indices), position, first, parts or [indices[:micro or max_local]], bool(parts))

    def step(self, loss=None):
        """The batch was trained with. Between two global batches, and only here, ranks agree on what
        comes next: a report, a checkpoint, to stop, or to give way, which leaves by SystemExit.

        `loss`: the mean over the batch, for the report.
        """
        if self._step is None:
            raise PacelineError("job.step() was called without a batch of job.batches()")
        if loss is not None:
            self._loss[0] += float(loss) * self._part if self._part else 0.0
            self._loss[1] += self._part
        self._step.left -= 1
        if self._step.left <= 0:
            self._boundary()

    def weight(self, count):
        """What the batch counts in the mean over the global batch, in place of its samples: tokens, say.

        Before backward(), of every batch and on every rank, with a loss that is the mean over so many.
        """
        if self._step is None:
            raise PacelineError("job.weight() was called without a batch of job.batches()")
        for each in self._distributed:
            each.gradients.count(float(count) if self._part else 0.0)

    def evaluate(self, function, data, batch_size=256):
        """The mean over `data`, on all ranks together, of what `function(batch)` returns as (sum, count); or
        {name: mean}, where it returns ({name: sum}, count).

        Without gradients, models in eval mode. Each sample counts once.
        """
        for model in self._models:
            state.average_buffers(self._group, model)
        loader = loader_of(data)
        mine = share(loader.length, self.rank, self.size)
        sums = {}
        modes = [model.training for model in self._models]
        for model in self._models:
            model.eval()
        with torch.no_grad():
            # A rank without samples computes one all the same, for the names, and it counts for nothing.
            for batch in loader.load(pieces(mine or [0], batch_size)):
                value, count = function(batch)
                values = value if isinstance(value, dict) else {"": value}
                for name, each in {None: count, **values}.items():
                    sums[name] = sums.get(name, 0.0) + (float(each) if mine else 0.0)
        for model, training in zip(self._models, modes):
            model.train(training)
        totals = torch.tensor(list(sums.values()), dtype=torch.float64)
        self._group.all_reduce(totals, SUM)
        count, *values = totals.tolist()
        means = {name: value / count if count else math.nan for name, value in zip([*sums][1:], values)}
        return means[""] if "" in means else means

    def report(self, **metrics):
        """Tells Paceline of these numbers, the same on every rank, with where the training stands."""
        if self.rank == 0:
            report(**self._place(), **{name: float(value) for name, value in metrics.items()})

    def finish(self):
        """The training is over: a last checkpoint, and all ranks part."""
        if self._folder:
            self._save()
            self._folder.join()
            self._tell_written()
        self._ranks.part()
        self._attendant.end()

    # ---- boundaries ----

    def _boundary(self):
        for each in self._distributed:
            each.gradients.finish()
        count, self._step = self._step.count, None
        self._pieces.between, self._pieces.dirty = True, False
        self._order.step(count)
        self.steps += 1
        self._seconds += time.monotonic() - self._begun_at
        self._samples += count
        agreed = self._agree()
        self._tell_written()
        self.should_stop = self.should_stop or bool(agreed[STOP])
        if agreed[REPORT]:
            self._report()
        if agreed[GENERATION] > self.generation:
            return self._resize(int(agreed[GENERATION]))  # newcomers know of nothing else that was agreed on
        if agreed[NOTICE]:
            self._give_way()
        if agreed[CHECKPOINT]:
            self._save()

    def _agree(self):
        if self._agreeing:
            (wishes, wait), self._agreeing = self._agreeing, None
            wait()
        else:
            wishes = self._wishes()
            self._group.all_reduce(wishes, MAX)
        agreed = wishes.tolist()
        if agreed[RATE] != -agreed[LESS_RATE]:
            raise PacelineError(f"The ranks have different learning rates ({-agreed[LESS_RATE]:g} and "
                                f"{agreed[RATE]:g}): pass the scheduler to job.distribute(), too.")
        return agreed

    def _wishes(self):
        now = time.monotonic()
        rate = self._learning_rate()
        wishes = torch.zeros(7, dtype=torch.float64)
        wishes[NOTICE] = float(self._attendant.notice is not None)
        if self._attendant.next:
            wishes[GENERATION] = self._attendant.next["generation"]
        if self.rank == 0:
            wishes[STOP] = float(self._attendant.should_stop)
            wishes[REPORT] = float(now - self._reported_at >= REPORT_EVERY_S)
            wishes[CHECKPOINT] = float(self._folder is not None and now - self._saved_at >= self._every)
        wishes[RATE], wishes[LESS_RATE] = rate, -rate
        return wishes

    def _learning_rate(self):
        return float(self._optimizers[0].param_groups[0]["lr"]) if self._optimizers else 0.0

    def _place(self):
        place = {"step": self.steps, "samples": self._samples}
        if self._order:
            place["epoch"] = self._order.epoch + self._order.position / self._order.length
        if self._total_epochs:
            place["total_epochs"] = self._total_epochs
        if self._optimizers:
            place["learning_rate"] = self._learning_rate()
        return place

    def _report(self):
        sums = torch.tensor(self._loss, dtype=torch.float64)
        self._group.all_reduce(sums, SUM)
        seconds = self._seconds / max(1, self.steps - self._reported_steps)
        self._loss, self._seconds = [0.0, 0], 0.0
        self._reported_at, self._reported_steps = time.monotonic(), self.steps
        if self.rank == 0:
            losses = {"train_loss": (sums[0] / sums[1]).item()} if sums[1] else {}
            report(**self._place(), step_seconds=seconds, **losses)

    def _give_way(self):
        notice = self._attendant.notice or signal.SIGTERM  # on this rank it may not have come yet
        if self._folder:
            self._save()
            self._folder.join()
            self._tell_written()
        self._ranks.part()
        sys.exit(EXIT_REQUEUE if self._folder else 128 + notice)

    # ---- generations ----

    def on_resize(self, function):
        """Calls `function(job)` after each change of ranks, on those that go on and on newcomers."""
        self._resized.append(function)

    def _resize(self, generation):
        """All ranks have ended the same step, and none begins another before the next generation stands."""
        if self._folder:
            self._folder.join()
            self._tell_written()
        heard = self._attendant.wait_for(generation, HEARD_WITHIN_S)
        if not heard:
            raise GroupError(f"Others of the gang go on as generation {generation}, of which rank {self.rank} heard "
                             "nothing.", "timed out", self.rank)
        self._ranks.part()
        if heard["environment"] is None:
            self._attendant.end()
            sys.exit(0)
        self._ranks.move(heard["environment"])
        self._share()

    def _join(self):
        """A newcomer's training stands where that of the others does."""
        if not self._joins:
            return
        self._attendant.say_ready(self.generation)
        self._ranks.connect()
        self._share()
        self._joins = False

    def _share(self):
        has_it = not self._joins
        for each in self._distributed:
            state.compare(self._group, each.model)
            state.share_model(self._group, each.model)
        for each in self._carried:
            its = share_state(self._group, each.state_dict() if has_it else None, has_it)
            if not has_it:
                each.load_state_dict(its)
        stands = share_state(self._group, self._standing(), has_it)
        if not has_it:
            self.steps, self._samples, self._epoch, self._resumed, self.should_stop = stands
            self._saved = self._samples
            self._reported_steps = self.steps
            torch.manual_seed(chance.of(self._samples, self.rank))
        for each in self._resized:
            each(self)

    def _standing(self):
        return [self.steps, self._samples, self._epoch, self._order.state() if self._order else self._resumed,
                self.should_stop]

    # ---- checkpoints ----

    def _save(self):
        if self._saved == self._samples:
            return
        self._saved, self._saved_at = self._samples, time.monotonic()
        for model in self._models:
            state.average_buffers(self._group, model)
        states = self._group.all_gather_bytes(state.packed(chance.states()))
        if self.rank > 0:
            return
        steps, samples = self.steps, self._samples
        written = {"samples": samples, "models": [each.state_dict() for each in self._models],
                   "carried": [each.state_dict() for each in self._carried],
                   "chance": states, "epoch": self._epoch, "steps": steps,
                   "order": self._order.state() if self._order else self._resumed}

        self._folder.begin(samples, written, (steps, samples))

    # From the main thread, so that no line of the script's own is torn apart.
    def _tell_written(self):
        for (steps, samples), path, why in self._folder.written() if self._folder else []:
            if path:
                report(checkpoint=str(path), step=steps, samples=samples)
            else:
                print(f"A checkpoint can't be written to {self._folder.path}: {why}. The training goes on; "
                      "make room there.", file=sys.stderr, flush=True)

    def _restore(self, saved, path):
        if len(saved["models"]) != len(self._models) or len(saved["carried"]) != len(self._carried):
            raise PacelineError(f"{path} holds {len(saved['models'])} models and {len(saved['carried'])} carried "
                                f"with them, this training has {len(self._models)} and {len(self._carried)}. "
                                "Choose another folder.")
        try:
            for each, its in zip([*self._models, *self._carried], [*saved["models"], *saved["carried"]]):
                each.load_state_dict(its)
        except (RuntimeError, ValueError, KeyError) as error:
            raise PacelineError(f"{path} is of another model: {str(error).splitlines()[-1].strip()} Choose "
                                "another folder.") from error
        self.steps, self._samples, self._epoch = saved["steps"], saved["samples"], saved["epoch"]
        self._saved, self._reported_steps = self._samples, self.steps
        self._resumed = saved["order"]
        if self.rank < len(saved["chance"]):
            chance.restore(torch.load(io.BytesIO(saved["chance"][self.rank]), weights_only=False))
        else:
            torch.manual_seed(chance.of(self._samples, self.rank))
        if self.rank == 0:
            print(f"Going on from {path}, after {self._samples} samples, on {self.size} ranks.", file=sys.stderr,
                  flush=True)

    def _begin_order(self, order):
        if self._resumed:
            try:
                order.restore(self._resumed)
            except ValueError as error:
                raise PacelineError(f"The checkpoint is of other data: {error}. Choose another folder for "
                                    "checkpoints.") from error
            self._resumed = None
        elif self._order and self._order.epoch == self._epoch:
            order.restore(self._order.state())
        order.begin(self._epoch)
        self._order = order


def _device(local_rank):
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", local_rank % torch.cuda.device_count())
