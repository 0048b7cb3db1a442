"""The resume audit: is a training that goes on where it was left?

Each checkpoint holds a record of where the training stood, beside the state that is restored from it. After a
start, or a resize in place, every rank's record of where it stands now is compared with that one.
"""

import json
import sys

import torch

from paceline.group import SUM
from paceline.report import report

LOSS_STEPS = 5  # the first ones after a resume, over which its loss is taken
LOSS_JUMP = 2.0  # times the loss before: more is told
TEXT_MAX = 500  # characters, of what Paceline is told
_DECAY = 0.9  # of what earlier steps count in the recent loss, from one step to the next


class RecentLoss:
    """The mean loss of the last ten steps or so."""

    def __init__(self):
        self._sum = self._count = 0.0

    def begin_step(self):
        self._sum *= _DECAY
        self._count *= _DECAY

    def add(self, loss, count):
        """The mean over so many of this rank's samples."""
        self._sum += loss * count
        self._count += count

    def over_all(self, group):
        """Of all ranks together; None where no loss was given. Every rank calls it."""
        sums = torch.tensor([self._sum, self._count], dtype=torch.float64)
        group.all_reduce(sums, SUM)
        return (sums[0] / sums[1]).item() if sums[1] else None


class Audit:
    """Of one resume. Every rank makes the same calls. `before`: the record of where the training was left, `loss` in it.
    `at` and `there` say where that was, after "resumed at step 12" and in the middle of a sentence."""

    def __init__(self, before, at, there):
        self._before, self._at, self._there = before, at, there
        self.compared, self._found = False, []

    def compare(self, group, record):
        """Warns of what this rank, or another, has otherwise."""
        self.compared = True
        records = [json.loads(each) for each in group.all_gather_bytes(json.dumps(record).encode(), "compares a resume")]
        self._found = list(differences(self._before, records, self._there))
        if group.rank == 0 and self._found:
            for each in self._found:
                _say(f"resume audit: {each}.")
            _tell(False, self._found)

    def is_due(self, step):
        return self.compared and step >= self._before["step"] + LOSS_STEPS

    def conclude(self, group, recent):
        """The training has gone on for a while, with that RecentLoss since the resume."""
        loss, before = recent.over_all(group), self._before["loss"]
        if group.rank > 0:
            return
        known = loss is not None and before is not None
        jumps = known and before > 0 and not loss <= before * LOSS_JUMP
        if jumps:
            found = (f"the loss is {loss:.3g} in the first steps after the resume, {before:.3g} {self._there}: more than "
                     f"{LOSS_JUMP:g} times as much")
            _say(f"resume audit: {found}.")
            _tell(False, [*self._found, found])
        elif not self._found:
            found = (f"step {self._before['step']} {self._at}: samples, data position, learning rate agree"
                     + (f"; loss {loss:.3g} ({before:.3g} before)" if known else ""))
            _say("resumed at " + found)
            _tell(True, [found])


def differences(before, records, there):
    """A sentence for each thing in which one of the ranks' records differs from the one before."""
    for name, tell in _SENTENCES.items():
        rank = next((rank for rank, each in enumerate(records) if each[name] != before[name]), None)
        if rank is None:
            continue
        alone = any(each[name] == before[name] for each in records)
        yield (f"on rank {rank} " if alone else "") + tell(records[rank][name], before[name], there)


def _rates(rates):
    return ", ".join(f"{rate:g}" for optimizer in rates for rate in optimizer) or "none"


def _batch(batch):
    samples, rule = batch
    return f"{samples} samples for each rank ({rule})" if rule else f"{samples} samples"


_SENTENCES = {
    "step": lambda now, before, there: f"the training is at step {now}, {there} it was at step {before}",
    "samples": lambda now, before, there: f"the training has seen {now} samples, {there} it had seen {before}",
    "place": lambda now, before, there:
        f"the data go on at sample {now[1]} of epoch {now[0]}, {there} they were at sample {before[1]} of epoch "
        f"{before[0]}: samples come twice or not at all",
    "order": lambda now, before, there:
        f"the samples come in another order than {there} (shuffle=?), so some come twice or not at all in this epoch",
    "batch": lambda now, before, there: f"a global batch has {_batch(now)}, {there} it had {_batch(before)}",
    "rates": lambda now, before, there:
        f"the learning rates are {_rates(now)}, {there} they were {_rates(before)}: pass the scheduler to "
        "job.distribute(), and change no rate after job.checkpoint()",
}


def _tell(agrees, found):
    report(resume_audit={"agrees": agrees, "text": "; ".join(found)[:TEXT_MAX]})


def _say(text):
    print("paceline: " + text, file=sys.stderr, flush=True)
