"""A training that any number of ranks share: docs/runtime.md shows how a script uses it."""

import copy
import itertools
import json
import math
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch

from paceline import chance, state, ways
from paceline.acts import Acts
from paceline.attendant import EXIT_REQUEUE
from paceline.audit import Audit, RecentLoss
from paceline.carried import (Pieces, carry_optimizer, carry_scaler, carry_scheduler, has_scheduler, is_scaler,
                              is_scheduler)
from paceline.checkpoint import Folder, go_on
from paceline.errors import GroupError, PacelineError, is_want_of_memory, raise_together
from paceline.exact import ExactGradients
from paceline.gradients import Gradients, trained
from paceline.group import MAX, SUM
from paceline.loading import Loaders
from paceline.named import NamedStates
from paceline.order import Order, compare_orders, different_data, pieces, share
from paceline.publishing import publish
from paceline.report import report
from paceline.savepoint import Savepoint
from paceline.scaling import RULES, NoiseScale, rate_factor
from paceline.shards import Iterable, Shards
from paceline.sharing import share_state
from paceline.sums import Sums

REPORT_EVERY_S = 1.0
HEARD_WITHIN_S = 30.0  # of a generation that another rank has heard of
NOTICE, STOP, REPORT, CHECKPOINT, GENERATION, RATE, LESS_RATE = range(7)  # what ranks exchange at a boundary


@dataclass
class _Distributed:
    model: torch.nn.Module
    gradients: object = None  # Gradients or ExactGradients, once it is known which
    summed: list = field(default_factory=list)  # a newcomer's: the parameters that the others sum, until it does

    def trains(self):
        """Of each parameter whether its gradient is summed, and whether it needs one."""
        summed = {id(each) for each in (self.gradients.summed if self.gradients else self.summed)}
        return [(id(each) in summed, each.requires_grad) for each in self.model.parameters()]

    def train(self, its):
        """What trains() tells of another rank, which built the same model, holds here, too."""
        parameters = list(self.model.parameters())
        self.summed = [each for each, (is_summed, _) in zip(parameters, its) if is_summed]
        for each, (_, needs_gradient) in zip(parameters, its):
            each.requires_grad_(needs_gradient)


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
    before: tuple  # what put_back() needs, where it may come to that
    losses: list = field(default_factory=list)  # of its pieces, and how many samples each had


@dataclass
class _Newcomers:
    """Ranks that join, and wait until the others ask for the next batch. `host`: of the others, the rank that does alone
    what comes until then. `old_size`: how many ranks the generation before had."""
    host: int
    old_size: int


class Job:
    """Made by paceline.init(). Every rank makes the same calls in the same order.

    `rank`, `size`, `local_rank`, `generation`: this process's place, which may change between two batches.
    `device`: where this process computes, a GPU of its own where there is one; it stays the same.
    `should_stop` turns true on all ranks in the same step, when Paceline says that the model is good enough.
    `steps`: how many global batches the training has seen.
    """

    def __init__(self, ranks, attendant, joins=False):
        self._ranks, self._acts = ranks, Acts(joins)
        self.device = _device(self.local_rank)
        self.should_stop = False
        self._attendant, self._timeline = attendant, ranks.timeline
        self._resized = []  # what to call after resizes
        self._pieces = Pieces(attendant.hears)
        self._sums = Sums(ranks, self._pieces)
        self._distributed, self._carried, self._optimizers = [], [], []
        self._trained_by = {}  # by the optimizer's id: gradients of the models whose parameters it has
        self._named = NamedStates()
        self._exact = None  # which kind of gradients
        self._scaled = None  # the rule, and one rank's batch, where the global batch grows with the ranks
        self._scaled_for, self._noise = 0, NoiseScale()
        self._loaders, self._doubted = Loaders(), set()
        self._order = self._step = None
        self._agreeing = None  # what ranks agree on, on its way, and what waits for it
        self._following = None  # the generation to go on in, before the next batch
        self._newcomers = None  # that wait for the next batch
        self._away = False  # in a group that failed, it may have more to do before the next batch
        self._begun_epoch = None  # whose order ranks have compared
        self._order_elsewhere = None  # a newcomer's: what the others say of it
        self._part = 0  # samples of the piece under way
        self._epoch = self._total_epochs = 0
        self._resumed = None  # the order's state in the checkpoint, until batches() knows the data
        self.steps = self._samples = 0
        self._folder, self._every, self._saved_at, self._saved = None, math.inf, 0.0, None
        self._audit, self._recent_loss = None, RecentLoss()
        self._size_before = None  # how many ranks the checkpoint's training had, until the script is told
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
        gradients are the mean over its samples. `carried`: optimizers, schedulers, AMP's GradScaler and whatever
        else has a state_dict() and belongs into checkpoints; those three act once per global batch.
        Raises PacelineError where ranks built different models.
        """
        state.check_model(model)
        if self.size > 1 and not self._acts.joins:
            state.compare(self._group, model)
            state.share_model(self._group, model)
        self._distributed.append(_Distributed(model))
        for each in carried:
            self._carry(each)
        return (model, *carried) if carried else model

    @property
    def _models(self):
        return [each.model for each in self._distributed]

    def _carry(self, each):
        if isinstance(each, torch.optim.Optimizer):
            self._optimizers.append(each)
            carry_optimizer(each, self._pieces, lambda: self._before_update(each))
        elif is_scheduler(each):
            carry_scheduler(each, self._pieces)
        elif is_scaler(each):
            carry_scaler(each, self._pieces, self._finish_of)
        elif not hasattr(each, "state_dict"):
            raise PacelineError(f"A {type(each).__name__} can't be carried: it has no state_dict().")
        self._carried.append(each)

    def carry(self, name, thing):
        """Takes `thing` along: into checkpoints, and to the ranks that a resize brings. Call it before checkpoint().

        Returns `thing` where it has state_dict() and load_state_dict(). Else it is a plain value that can be pickled,
        and what is returned is a handle on it, whose `value` is to be read and set. What rank 0 has of it counts.
        Raises PacelineError.
        """
        if self._folder or self._order:
            raise PacelineError(f"job.carry('{name}', …) came too late: call it before job.checkpoint() and job.batches().")
        if isinstance(thing, torch.optim.Optimizer) or is_scheduler(thing) or any(thing is each for each in self._models):
            raise PacelineError(f"'{name}' belongs to job.distribute(), which takes the model and all that updates it.")
        return self._named.add(name, thing)

    def commit(self):
        """Notes, in memory, how what was given to carry() is now. Every start and every resize is a commit, too."""
        self._named.commit()

    def restore(self):
        """Puts what was given to carry() back to how it was at the last commit(). Models, optimizers and the place in
        the data stay."""
        self._named.restore()

    def _finish_of(self, optimizer):
        self._sums.finish(self._trained_by.get(id(optimizer), []))

    # What ranks agree on travels while parameters are updated.
    def _before_update(self, optimizer):
        self._finish_of(optimizer)
        if self.size > 1 and not self._agreeing and self._sums.done:
            wishes = self._wishes()
            self._agreeing = wishes, self._group.start_all_reduce(wishes, MAX)

    def checkpoint(self, folder, every=60.0):
        """Keeps checkpoints in `folder`, at most one every so many seconds and one before giving way, and
        goes on from the newest: call it after distribute(). Raises PacelineError.
        """
        self._folder, self._every = Folder(folder, timeline=self._timeline), every
        if self._acts.joins:
            return
        saved, path = go_on(self._group, self._folder)
        if saved is not None:
            self._restore(saved, Path(path))
        # A fresh training can be resized once it has a checkpoint, so it takes the first at once.
        self._saved_at = time.monotonic() if saved is not None else -math.inf

    # ---- the loop ----

    def epochs(self, count):
        """The numbers of the epochs that are left of `count`."""
        self._begin()
        self._total_epochs = count
        while self._epoch < count:
            yield self._epoch
            self._epoch += 1

    def batches(self, data, global_batch_size, max_local=None, seed=0, shuffle=True, drop_last=False, micro=None,
                exact=False, batch="keep", rule="linear"):
        """This rank's pieces of the global batches of this epoch, from where the training stands.

        `data`: a dataset with len() and [], or a DataLoader over one, whose collate_fn, workers and pinning
        are kept. A piece has at most `max_local` samples. Every sample comes once an epoch, whatever the
        number of ranks. The order depends on `seed` and the epoch alone. Or a dataset that can only be gone through: its
        order is its own (paceline/shards.py).

        `micro`: the pieces are micro-batches of so many samples instead, whatever the number of ranks, and what
        is drawn by chance in them belongs to the sample or the micro-batch. `exact`: their gradients are summed
        in their order, too, so that on CPUs weights are the same bits on any number of ranks.

        `batch`: "keep" keeps the global batch whatever the number of ranks. "scale" makes it `global_batch_size` for
        each rank, and multiplies the learning rates by `rule` while optimizers step: "linear", "sqrt", or "noise", by
        the measured gradient noise scale.
        """
        if exact and not micro:
            raise PacelineError("exact=True needs micro=: the number of samples of a micro-batch, which stays the same "
                                "on any number of ranks")
        self._begin()
        self._check_schedulers()
        self._prepare(exact)
        self._prepare_scale(batch, rule, global_batch_size, exact)
        loader = self._loaders.of(data, seed if micro else None)
        if isinstance(loader, Iterable):
            self._doubt(loader)
            loader = order = Shards(loader, global_batch_size, seed, drop_last, bool(micro))
        else:
            order = Order(loader.length, global_batch_size, seed, shuffle, drop_last)
        self._begin_order(order)
        self._attendant.training = True
        self._come_together()  # the script may have left the loop over the last epoch's batches
        self._begin_epoch()
        generation = None
        while self._following or generation != self.generation:
            self._come_together()
            generation = self.generation
            self._scale()
            if not self._agree_first():
                continue
            self._order.begin(self._epoch)
            if self.rank == 0:
                self._attendant.ask()
            self._say_it_stands()
            yield from self._batches(loader, seed, max_local, micro)
        self._pieces.void = False

    def _doubt(self, data):
        for each in data.doubts():
            if each not in self._doubted:
                self._say(f"paceline: {each}")
                self._doubted.add(each)

    def _begin_epoch(self):
        """Raises PacelineError where ranks have different data."""
        self._scale()
        if self._begun_epoch != self._epoch:
            with self._timeline.span("others"):
                self._together(self._compare_orders)
            self._begun_epoch = self._epoch
        elif self._order_elsewhere and str(self._order) != self._order_elsewhere:
            raise PacelineError(different_data(0, self._order_elsewhere, self.rank, self._order))
        self._order_elsewhere = None

    def _compare_orders(self):
        self._scale()
        compare_orders(self._group, self._order)

    def _agree_first(self):
        """On what a generation needs for its first batch. False: the ranks are others now."""
        try:
            with self._timeline.span("others"):
                if not self._exact:
                    self._choose_way()
                if self._audit and not self._audit.compared:
                    self._audit.compare(self._group, self._record())
        except GroupError as error:
            self._pieces.suffer(error)
            self._regroup(away=False)
            return False
        return True

    def _choose_way(self):
        """How gradients travel. A generation that went on in place chooses as soon as it stands: its ranks may be at
        different places of the script."""
        if self.size > 1 and not self._ranks.carrier:
            parameters = [each for model in self._models for each in trained(model)]
            self._ranks.carrier = ways.choose(self._group, parameters, self._ranks.moved)

    def _batches(self, loader, seed, max_local, micro):
        """Those of this generation's ranks, to the end of the epoch or of the generation."""
        generation = self.generation
        # What a DataLoader fetches ahead is planned by the same plan, further on.
        plan, ahead = itertools.tee(self._plan(max_local, micro))
        loaded = loader.load((part for share_of_it in ahead for part in share_of_it.parts), self._epoch)
        for share_of_it in plan:
            self._begun_at = time.monotonic()
            self._timeline.begin_step(self.steps + 1)
            self._step = _Step(share_of_it.count, len(share_of_it.parts), self._before_step())
            self._pieces.begin()
            self._recent_loss.begin_step()
            for number, part in enumerate(share_of_it.parts, share_of_it.first):
                self._pieces.last = self._step.left == 1
                self._pieces.whole = self.size == 1 and len(share_of_it.parts) == 1
                self._part = len(part) if share_of_it.counts else 0
                self._sums.begin(self._part / share_of_it.count)
                before = self._step.left
                with self._timeline.span("data"):
                    batch = next(loaded)
                if micro:
                    chance.seed_all(seed, self._epoch, share_of_it.position, number)
                yield batch
                if self.generation != generation:
                    return
                if self._step and self._step.left == before:
                    raise PacelineError("job.step() was not called for the last batch: call it once for each, "
                                        "after optimizer.step()")
            if self._following:
                return

    def _prepare(self, exact):
        if self._exact not in (None, exact):
            raise PacelineError("A training is exact as a whole, or not at all: pass the same exact= to every batches()")
        if exact and self._exact is None and any(each.is_cuda for model in self._models for each in model.parameters()):
            self._say("paceline: exact=True on GPUs: what is summed over micro-batches is summed in one order. Weights are the "
                      "same bits only on GPUs of one type, and after torch.use_deterministic_algorithms(True).")
        self._exact = exact
        for each in self._distributed:
            if each.gradients is None:
                kind = ExactGradients if exact else Gradients
                each.gradients = kind(each.model, self._ranks, self._pieces, self._sums, each.summed)
                self._sums.add(each.gradients)
            else:
                each.gradients.renew()
        self._match_optimizers()

    def _match_optimizers(self):
        """Raises PacelineError where one trains what nobody sums."""
        owners = {id(parameter): each.gradients for each in self._distributed for parameter in each.model.parameters()}
        for optimizer in self._optimizers:
            parameters = [each for group in optimizer.param_groups for each in group["params"]]
            for number, each in enumerate(parameters):
                if each.requires_grad and id(each) not in owners:
                    raise PacelineError(f"The {type(optimizer).__name__} trains a parameter that is in no model of job.distribute(): "
                                        f"number {number} of its own, of shape {tuple(each.shape)}. Each rank would train its own: "
                                        "make it an nn.Parameter of a model that is distributed.")
            its_own = {owners.get(id(each)) for each in parameters}
            self._trained_by[id(optimizer)] = [each.gradients for each in self._distributed if each.gradients in its_own]

    def _check_schedulers(self):
        scheduled = [each.optimizer for each in self._carried if is_scheduler(each)]
        for each in self._optimizers:
            if has_scheduler(each) and not any(each is other for other in scheduled):
                raise PacelineError(f"A scheduler of the {type(each).__name__} was not passed to job.distribute(): the next "
                                    "start would lose its learning rate. Pass it, too.")

    def _prepare_scale(self, batch, rule, global_batch_size, exact):
        if batch not in ("keep", "scale"):
            raise PacelineError(f"batch='{batch}' is neither 'keep' nor 'scale'")
        if rule not in RULES:
            raise PacelineError(f"rule='{rule}' is none of {', '.join(RULES)}")
        if batch == "scale" and exact:
            raise PacelineError("exact=True keeps the global batch: batch='scale' can't be exact")
        self._scaled = (rule, global_batch_size) if batch == "scale" else None
        self._pieces.rate_factor = 1.0
        if self._scaled and rule == "noise":
            for each in self._distributed:
                each.gradients.measure()

    def _scale(self):
        """The global batch and the learning rates become those of so many ranks."""
        if not self._scaled:
            return
        rule, batch = self._scaled
        self._order.set_batch(batch * self.size)
        self._set_rate_factor()
        if self._scaled_for != self.size:
            self._say(f"{_ranks_text(self.size)}: a global batch of {self._order.batch} samples, learning rates times "
                      f"{self._pieces.rate_factor:.4g} ({rule}).")
        self._scaled_for = self.size

    def _set_rate_factor(self):
        rule, batch = self._scaled
        times = max(1.0, self._order.batch / batch)  # with few samples there is no more than a rank's batch
        self._pieces.rate_factor = rate_factor(rule, batch, times, self._noise.value)

    def _measure_noise(self, count):
        if not self._scaled or self._scaled[0] != "noise":
            return
        squares = [each.gradients.take_squares() for each in self._distributed]
        if not squares or None in squares or count <= self.size:
            return
        small, large = (sum(each) for each in zip(*squares))
        self._noise.update(count / self.size, small, count, large)
        self._set_rate_factor()

    def _plan(self, max_local, micro):
        """This rank's shares of the global batches from here to the end of the epoch, or of the generation."""
        if isinstance(self._order, Shards):
            try:
                yield from self._plan_of_shards(max_local, micro)
            except GroupError as error:
                self._pieces.suffer(error)
                self._regroup(away=False)
            return
        order = self._order.copy()
        while indices := order.next():
            position = order.position
            order.step(len(indices))
            yield self._share_of(indices, position, max_local, micro)

    def _plan_of_shards(self, max_local, micro):
        """Nothing is planned ahead: where shards end shows when they are read."""
        shards = self._order
        with self._timeline.span("others"):
            shards.agree(self._group)
        while indices := shards.next():
            mine = self._share_of(indices, shards.position, max_local, micro)
            with self._timeline.span("data"):
                shards.read(mine.parts)
            with self._timeline.span("others"):
                agreed = shards.agree(self._group)
            if agreed:
                yield mine
                with self._timeline.span("others"):
                    if shards.is_to_gather():
                        shards.gather(self._group)
        if shards.position == 0:
            raise PacelineError("The data have no samples" + (f", or fewer than a global batch of {shards.batch} with drop_last=True."
                                                             if shards.drop_last else "."))

    def _share_of(self, indices, position, max_local, micro):
        if micro:
            parts = [indices[i:i + micro] for i in range(0, len(indices), micro)]
            mine = share(len(parts), self.rank, self.size)
            first, parts = mine.start, parts[mine.start:mine.stop]
        else:
            mine = share(len(indices), self.rank, self.size)
            first, parts = 0, pieces(indices[mine.start:mine.stop], max_local or len(indices))
        # A rank that gets none computes what others do; it counts for nothing.
        return _Share(len(indices), position, first, parts or [indices[:micro or max_local]], bool(parts))

    def step(self, loss=None):
        """The batch was trained with. Between two global batches, and only here, ranks agree on what
        comes next: a report, a checkpoint, to stop, or to give way, which leaves by SystemExit.

        `loss`: the mean over the batch, for the report.
        """
        if self._step is None:
            raise PacelineError("job.step() was called without a batch of job.batches()")
        if loss is not None and self._part:
            self._step.losses.append((loss.detach() if torch.is_tensor(loss) else loss, self._part))
        self._step.left -= 1
        if self._step.left <= 0 and not self._pieces.error:
            self._boundary()
        if self._pieces.error:
            self._regroup(away=True)

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

        Without gradients, models in eval mode. Each sample counts once. Before it meets the others a newcomer computes
        by itself.
        """
        loader = self._loaders.of(data, evaluates=True)

        def evaluated():
            return self._evaluate(function, loader, batch_size)

        with self._timeline.span("evaluation"):
            return self._ranks.alone(evaluated) if self._acts.joins else self._together(evaluated)

    def _evaluate(self, function, loader, batch_size):
        for model in self._models:
            state.average_buffers(self._group, model)
        sums = {}
        with state.evaluating(self._models):
            # A rank without samples computes some all the same, for the names.
            for batch, counts in loader.shares(self.rank, self.size, batch_size):
                value, count = function(batch)
                values = value if isinstance(value, dict) else {"": value}
                for name, each in {None: count, **values}.items():
                    sums[name] = sums.get(name, 0.0) + (_number(each) if counts else 0.0)
        totals = torch.tensor([float(each) for each in sums.values()], dtype=torch.float64)
        with self._timeline.span("others"):
            self._group.all_reduce(totals, SUM)
        count, *values = totals.tolist()
        means = {name: value / count if count else math.nan for name, value in zip([*sums][1:], values)}
        return means[""] if "" in means else means

    def report(self, **metrics):
        """Tells Paceline of these numbers, the same on every rank, with where the training stands."""
        if self.rank == 0:
            report(**self._place(), **{name: float(value) for name, value in metrics.items()})

    def publish(self, model, path="model.pt"):
        """Hands out the model: a file at `path` with its state_dict(), as torch.save() writes it, in place of the one
        before; `paceline show` tells of it. Outside of batches. Returns the absolute path. Before it meets the others a
        newcomer writes nothing. Raises PacelineError on every rank where it can't be written.
        """
        if self._acts.joins:
            return str(Path(path).absolute())
        with self._timeline.span("publish"):
            told = self._together(lambda: publish(self._group, model, path))
        if self.rank == 0:
            report(**told, step=self.steps, samples=self._samples)
        return told["model"]

    def finish(self):
        """The training is over: a last checkpoint, and all ranks part."""
        self._together(self._finish)
        if self._newcomers:
            self._dismiss()
        self._attendant.end()

    def _finish(self):
        self._end_audit()
        if self._folder:
            self._save()
            self._finish_writing()
        with self._timeline.span("others"):
            self._ranks.part()

    # ---- boundaries ----

    def _boundary(self):
        self._sums.finish()
        if self._pieces.error:
            return
        for loss, samples in self._step.losses:
            self._loss[0] += float(loss) * samples
            self._loss[1] += samples
            self._recent_loss.add(float(loss), samples)
        count, self._step = self._step.count, None
        self._pieces.between = True
        self._count_step(count)
        self._acts.done()
        self._measure_noise(count)
        try:
            self._do_what_is_agreed()
        except GroupError as error:
            self._pieces.suffer(error)
        finally:
            self._timeline.end_step()

    def _count_step(self, count):
        self._order.step(count)
        self.steps += 1
        self._samples += count
        self._seconds += time.monotonic() - self._begun_at

    def _do_what_is_agreed(self):
        with self._timeline.span("others"):
            agreed = self._agree()
            self._tell_written()
            self.should_stop = self.should_stop or bool(agreed[STOP])
            if agreed[REPORT]:
                self._report()
            if self._audit and self._audit.is_due(self.steps):
                self._end_audit()
            if agreed[GENERATION] > self.generation:
                self._following = self._hear_of(int(agreed[GENERATION]))
                return  # newcomers know of nothing else that was agreed on
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
            wishes[CHECKPOINT] = float(self._folder is not None and now - self._saved_at >= self._every
                                       and not self._folder.is_writing())
        wishes[RATE], wishes[LESS_RATE] = rate, -rate
        return wishes

    def _learning_rate(self):
        return float(self._optimizers[0].param_groups[0]["lr"]) if self._optimizers else 0.0

    def _place(self):
        place = {"step": self.steps, "samples": self._samples}
        if self._order:
            place["epoch"] = self._order.epoch + self._order.part_done()
        if self._total_epochs:
            place["total_epochs"] = self._total_epochs
        if self._optimizers:
            place["learning_rate"] = self._learning_rate() * self._pieces.rate_factor
        return place

    def _report(self):
        sums = torch.tensor(self._loss, dtype=torch.float64)
        self._group.all_reduce(sums, SUM)
        seconds = self._seconds / max(1, self.steps - self._reported_steps)
        self._loss, self._seconds = [0.0, 0], 0.0
        self._reported_at, self._reported_steps = time.monotonic(), self.steps
        if self.rank == 0:
            metrics = {"train_loss": (sums[0] / sums[1]).item()} if sums[1] else {}
            if self._scaled:
                metrics["global_batch_size"] = self._order.batch
            if self._noise.value is not None:
                metrics["gradient_noise_scale"] = self._noise.value
            report(**self._place(), step_seconds=seconds, **metrics)

    def _give_way(self):
        notice = self._attendant.notice or signal.SIGTERM  # on this rank it may not have come yet
        self._end_audit()
        if self._folder:
            self._save()
            self._finish_writing()
        with self._timeline.span("others"):
            self._ranks.part()
        sys.exit(EXIT_REQUEUE if self._folder else 128 + notice)

    # ---- generations ----

    def on_resize(self, function):
        """Calls `function(old_size, new_size)` on every rank, newcomers too, when the training goes on in another
        generation in place, and when it begins after a start with another number of ranks than its checkpoint."""
        self._resized.append(function)

    def _tell_resized(self, old_size):
        for each in self._resized:
            each(old_size, self.size)

    def _hear_of(self, generation):
        """What becomes of this rank there. All agree on that generation, which this rank may not have heard of yet."""
        heard = self._attendant.wait_for(generation, HEARD_WITHIN_S)
        if not heard:
            raise GroupError(f"Others of the gang go on as generation {generation}, of which rank {self.rank} heard "
                             "nothing.", "system", self.rank)
        return heard

    def _come_together(self):
        """The next batch is asked for: all ranks are those that compute it."""
        while self._following or self._newcomers:
            if self._newcomers:
                self._welcome()
            else:
                self._resize()

    def _resize(self):
        """All ranks have ended the same step, and none begins another before the next generation stands."""
        environment, self._following = self._following["environment"], None
        with self._timeline.span("resize"):
            try:
                self._finish_writing()
                self._end_audit()
                record = self._record()
                self._ranks.part()
            except GroupError as error:
                self._pieces.suffer(error)
                self._regroup(away=False)
            else:
                self._enter(environment, record, self.size)

    def _welcome(self):
        """Those that waited stand where the others do."""
        waiting = self._newcomers
        with self._timeline.span("resize"):
            try:
                self._tell_newcomers({"next": True})
                self._newcomers = None
                self._share(None, waiting.old_size)
                self._choose_way()
            except GroupError as error:
                self._pieces.suffer(error)
                self._newcomers = waiting
                self._regroup(away=False)
            else:
                self._named.commit()
                self._say_it_stands()

    def _dismiss(self):
        """The training is over without those that wait."""
        try:
            self._tell_newcomers({"over": True})
            self._ranks.part()
        except GroupError:  # nothing more is needed of others
            self._ranks.leave()

    def _tell_newcomers(self, told):
        """Returns what the host tells, on every rank."""
        return json.loads(self._group.broadcast_bytes(json.dumps(told).encode(), self._newcomers.host))

    def _wait_for_others(self, host):
        """Of one that joins: until the others ask for the next batch."""
        told = {}
        while not told.get("next"):
            told = json.loads(self._group.broadcast_bytes(b"", host))
            if "why" in told:
                raise_together(self._group, told["why"])
            if told.get("over"):
                self._ranks.part()
                self._attendant.end()
                sys.exit(0)

    def _begin(self):
        """A newcomer's training stands where that of the others does, and the script knows of other ranks."""
        if self._acts.joins:
            self._attendant.say_of_gang(ready=self.generation)
            with self._timeline.span("resize"):
                self._enter(self._ranks.place.environment, None, None)
        elif self._size_before:
            before, self._size_before = self._size_before, None
            self._tell_resized(before)

    def _enter(self, environment, record, old_size):
        """Goes on in the generation of which the environment says this rank's place, or in a later one where that one
        doesn't come about. `record`: of before the resize; None: of a newcomer, or the group had failed."""
        while True:
            if environment is None:
                self._attendant.end()
                sys.exit(0)
            try:
                self._ranks.move(environment, lambda: self._attendant.knows_of(self.generation + 1))
                self._share(record, old_size)
                if not self._newcomers:
                    self._choose_way()
            except GroupError as error:
                self._pieces.suffer(error)
                environment = self._next_after(error)
            else:
                self._pieces.error = None
                if not self._newcomers:
                    self._say_it_stands()
                return

    def _say_it_stands(self):
        if self.rank == 0:
            self._attendant.say_of_gang(stands=self.generation)

    def _next_after(self, error):
        """This rank's place in the generation that follows the one that failed. Raises the error where none does."""
        _note(f"{error} Those that are left wait for the gang's next generation.")
        heard = self._attendant.wait_for(self.generation + 1, self._ranks.timeout_s, unless_noticed=True)
        if not heard:
            raise error
        return heard["environment"]

    # ---- where the group fails ----

    def _together(self, act):
        """Does what all ranks do, outside of batches; once more with those that are left where the group fails, unless
        one of them had done it: then what that came to counts. While newcomers wait, one rank does it for all."""
        while True:
            done = self._acts.count
            try:
                result = self._done_by_host(act) if self._newcomers else act()
            except GroupError as error:
                self._pieces.suffer(error)
                self._regroup(away=True)
                if self._acts.count > done:
                    return self._acts.result
            else:
                self._acts.done(result)
                return result

    def _done_by_host(self, act):
        told = {}
        if self.rank == self._newcomers.host:
            try:
                told = {"result": self._ranks.alone(act)}
            except PacelineError as error:
                told = {"why": str(error)}
        told = self._tell_newcomers(told)
        if "why" in told:
            raise_together(self._group, told["why"])
        return told["result"]

    def _regroup(self, away):
        """The group failed: those that are left go on as the next generation. Raises what it failed of where there is none.
        `away`: this rank may do more with the others before it asks for the next batch."""
        old_size, error = self._newcomers.old_size if self._newcomers else self.size, self._pieces.error
        self._ranks.leave()
        self._agreeing = self._following = self._newcomers = self._audit = self._saved = None
        if self._step:
            self._put_back()
        with self._timeline.span("resize"):
            self._timeline.drop_step()
            self._finish_writing()
            self._away = away
            self._enter(self._next_after(error), None, old_size)
            self._away = False
        self._say(f"paceline: ranks were lost; {self.size} of {old_size} go on after step {self.steps}.")

    def _before_step(self):
        """What put_back() needs."""
        if not self._pieces.goes_on:
            return ()
        return Savepoint(self._models, self.device), list(self._loss), copy.copy(self._recent_loss)

    def _put_back(self):
        """The global batch under way is void."""
        savepoint, self._loss, self._recent_loss = self._step.before
        savepoint.restore()
        for each in self._distributed:
            each.gradients.drop()
        self._acts.torn = self._acts.torn or self._pieces.updates > 0
        self._pieces.between = self._pieces.void = True
        self._acts.void, self._step = self._step.count, None

    # ---- what a generation begins with ----

    def _share(self, record, old_size):
        """All ranks of the generation stand where the one stands that has done most: the lowest of those. `record`,
        `old_size`: as _enter() has them."""
        if self._order:
            self._scale()
        found = self._acts.compare(self._group, self._away, stop=self.should_stop, record=record, size=old_size)
        if any(found.lacking):
            lacks = self._acts.torn = found.lacking[self.rank]
            self._share_state(found.root, lacks)
        if found.newcomers_wait:
            if self._acts.joins:
                self._wait_for_others(found.root)
                self._share(record, old_size)
                return
            self._newcomers = _Newcomers(found.root, found.its["size"])
        elif found.some_join:
            self._share_standing(found.root)
        step = self._acts.catch_up(found.its)
        if step:
            self._count_step(step)
        self.should_stop = any(each["stop"] for each in found.everyones)
        record = found.its["record"]
        if record:
            self._named.commit()
            self._recent_loss = RecentLoss()
            self._audit = Audit(record, f"in place, on {_ranks_text(self.size)}", "before the resize")
        if not found.newcomers_wait:
            self._tell_resized(found.its["size"])

    def _share_state(self, root, lacks):
        for each in self._distributed:
            self._compare(each.model)
            state.share_model(self._group, each.model, root)
        for each in self._carried:
            its = share_state(self._group, None if lacks else each.state_dict(), not lacks, root)
            if lacks:
                each.load_state_dict(its)
        noise = share_state(self._group, self._noise.state(), not lacks, root)
        self._noise.restore(noise)

    def _compare(self, model):
        """Where a newcomer built another model, it alone ends."""
        try:
            state.compare(self._group, model)
        except GroupError:
            raise
        except PacelineError as error:
            if self._acts.joins:
                raise
            raise GroupError(str(error), "aborted") from error

    def _share_standing(self, root):
        """With the ranks that join."""
        order = self._order
        # As a whole: ranks may differ in what a value that is carried holds.
        own = None if self.rank != root else state.packed(
            [self._named.states(), self.steps, self._samples, self._epoch, self._begun_epoch,
             order.state() if order else self._resumed, str(order) if order else None,
             [each.trains() for each in self._distributed]])
        its = self._group.broadcast_bytes(own, root)
        if not self._acts.joins:
            return
        (named, self.steps, self._samples, self._epoch, self._begun_epoch, self._resumed, self._order_elsewhere,
         everyones) = state.unpacked(its)
        for each, trains in zip(self._distributed, everyones):
            each.train(trains)
        self._named.load(named)
        self._saved, self._reported_steps = self._samples, self.steps
        torch.manual_seed(chance.of(self._samples, self.rank))

    # ---- the resume audit ----

    def _record(self):
        """Where the training stands, for the audit of a resume."""
        order = self._order
        rule, batch = self._scaled or (None, order.batch)
        rates = [[float(group["lr"]) for group in each.param_groups] for each in self._optimizers]
        return {"step": self.steps, "samples": self._samples, "place": [order.epoch, order.position],
                "order": order.digest(), "batch": [batch, rule], "rates": rates, "ranks": self.size,
                "loss": self._recent_loss.over_all(self._group)}

    def _end_audit(self):
        if self._audit and self._audit.compared:
            self._audit.conclude(self._group, self._recent_loss)
        self._audit = None

    # ---- checkpoints ----

    def _finish_writing(self):
        if self._folder:
            with self._timeline.span("checkpoint"):
                self._folder.join()
            self._tell_written()

    def _save(self):
        if self._saved != self._samples:
            with self._timeline.span("checkpoint"):
                self._take_checkpoint()

    def _take_checkpoint(self):
        self._saved, self._saved_at = self._samples, time.monotonic()
        for model in self._models:
            state.average_buffers(self._group, model)
        states = self._group.all_gather_bytes(state.packed(chance.states(self.device)), "takes a checkpoint")
        if isinstance(self._order, Shards):
            self._order.gather(self._group)
        record = self._record() if self._order else None
        if self.rank > 0:
            return
        steps, samples = self.steps, self._samples
        written = {"samples": samples, "models": [each.state_dict() for each in self._models],
                   "carried": [each.state_dict() for each in self._carried], "kinds": self._kinds(),
                   "named": self._named.states(), "record": record,
                   "chance": states, "epoch": self._epoch, "steps": steps,
                   "order": self._order.state() if self._order else self._resumed, "noise": self._noise.state()}
        self._folder.join()
        self._tell_written()
        self._folder.begin(samples, written, (steps, samples))

    # From the main thread, so that no line of the script's own is torn apart.
    def _tell_written(self):
        for (steps, samples), path, why in self._folder.written() if self._folder else []:
            if path:
                report(checkpoint=str(path), step=steps, samples=samples)
            else:
                self._say(f"A checkpoint can't be written to {self._folder.path}: {why}. The training goes on; "
                          "make room there.")

    def _say(self, text):
        if self.rank == 0:
            print(text, file=sys.stderr, flush=True)

    def _kinds(self):
        return [type(each).__name__ for each in self._carried]

    def _load(self, saved, path):
        """What is trained, and all that is carried, becomes that of the checkpoint."""
        if len(saved["models"]) != len(self._models) or len(saved["carried"]) != len(self._carried):
            raise PacelineError(f"{path} holds {len(saved['models'])} models and {len(saved['carried'])} carried "
                                f"with them, this training has {len(self._models)} and {len(self._carried)}. "
                                "Choose another folder.")
        if saved.get("kinds", self._kinds()) != self._kinds():
            raise PacelineError(f"{path} is of another model: with it were carried {', '.join(saved['kinds'])}, now it is "
                                f"{', '.join(self._kinds())}. Choose another folder.")
        try:
            for each, its in zip([*self._models, *self._carried], [*saved["models"], *saved["carried"]]):
                each.load_state_dict(its)
        except (MemoryError, RuntimeError, ValueError, KeyError) as error:
            if is_want_of_memory(error):
                raise
            raise PacelineError(f"{path} is of another model: {str(error).splitlines()[-1].strip()} Choose "
                                "another folder.") from error
        for each in self._named.load(saved.get("named", {})):
            self._say(f"{each} {path.name}.")

    def _restore(self, saved, path):
        self._load(saved, path)
        self.steps, self._samples, self._epoch = saved["steps"], saved["samples"], saved["epoch"]
        self._saved, self._reported_steps = self._samples, self.steps
        self._resumed = saved["order"]
        if "noise" in saved:
            self._noise.restore(saved["noise"])
        if self.rank < len(saved["chance"]):
            chance.restore(state.unpacked(saved["chance"][self.rank]), self.device)
        else:
            torch.manual_seed(chance.of(self._samples, self.rank))
        self._say(f"Going on from {path}, after {self._samples} samples, on {self.size} ranks.")
        record = saved.get("record")
        if record:
            self._audit = Audit(record, f"of checkpoint {path.name}", f"in checkpoint {path.name}")
            self._size_before = record["ranks"] if record["ranks"] != self.size else None

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
        else:
            order.begin(self._epoch)
        self._order = order


def _note(text):
    print("paceline: " + text, file=sys.stderr, flush=True)


def _number(value):
    """What can be added up: a number, but on a GPU a tensor, for which the host needn't wait."""
    return value.double() if torch.is_tensor(value) and value.is_cuda else float(value)


def _ranks_text(size):
    return f"{size} rank{'s'[:size > 1]}"


def _device(local_rank):
    """The first of this worker's own devices among those that it is shown."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    own = os.environ.get("PACELINE_DEVICES", "").split(",")[0]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    index = visible.index(own) if own and own in visible else local_rank % torch.cuda.device_count()
    return torch.device("cuda", index)
