"""Where commits are kept between starts, and how ranks give way."""

import contextlib
import math
import os
import shutil
import sys
import time
from pathlib import Path

import torch

from paceline.attendant import EXIT_REQUEUE
from paceline.checkpoint import Folder, go_on
from paceline.group import MAX
from paceline.horovod.torch.turns import Call
from paceline.report import report

FORMAT = "paceline-elastic-1"
NOTICE, DUE = range(2)  # what ranks exchange at a commit
REST = 9  # times as long as a checkpoint took: writing them takes a tenth of the time at most


def _folder():
    """A job's own in its working directory; outside of Paceline the script's."""
    job = os.environ.get("PACELINE_JOB_ID")
    name = f"job-{job}" if job else Path(sys.argv[0]).stem or "python"
    return Path(".paceline-elastic") / name


class Commits:
    """Of one training. Every rank makes the same calls."""

    def __init__(self, world):
        self._group, self._turns = world.group, world.turns
        self._attendant = world.attendant()
        self._folder = Folder(_folder(), FORMAT)
        self._number = self._written = 0  # of the newest commit, and of the newest that is kept
        self._began = -math.inf  # writing the newest that is kept

    def begin(self, state):
        """Goes on from the newest commit, if there is one, and minds notices from now on."""
        saved, path = go_on(self._group, self._folder)
        if saved is not None:
            self._number = self._written = saved["number"]
            state.load(saved["values"], path)
            if self._group.rank == 0:
                print(f"Going on from {path}, on {self._group.size} ranks.", file=sys.stderr, flush=True)
            state.on_reset()
        state.sync()
        self._attendant.training = True
        if self._group.rank == 0:
            self._attendant.ask()

    def commit(self, state):
        """REQUIRES: state.save() was called."""
        self._number += 1
        agreed = self._agree("commit")
        if agreed[NOTICE]:
            self._give_way(state)
        elif agreed[DUE]:
            self._write(state)

    def check(self, state):
        if self._agree("check_host_updates")[NOTICE]:
            state.save()
            self._number += 1
            self._give_way(state)

    def end(self, state):
        """The training is over on all ranks. REQUIRES: state.save() was called."""
        self._turns.announce(Call("barrier"))
        self._group.barrier()
        self._attendant.training = False
        # A job's folder is its own, and the job may be started again. A script's would end the next run of it.
        stays = "PACELINE_JOB_ID" in os.environ
        if stays and self._written != self._number:
            self._write(state)
        self._folder.join()
        self._tell_written()
        if self._group.rank == 0 and not stays:
            shutil.rmtree(self._folder.path, ignore_errors=True)
            with contextlib.suppress(OSError):  # another script's are there
                self._folder.path.parent.rmdir()

    def _agree(self, function):
        self._turns.announce(Call(function))
        self._tell_written()
        wishes = torch.zeros(2)
        wishes[NOTICE] = float(self._attendant.notice is not None)
        wishes[DUE] = float(self._group.rank == 0 and self._is_due())
        self._group.all_reduce(wishes, MAX)
        return wishes.tolist()

    def _is_due(self):
        return not self._folder.is_writing() and time.monotonic() >= self._began + (1 + REST) * self._folder.took_s

    def _write(self, state):
        self._began = time.monotonic()
        self._written = self._number
        values = state.gathered()
        if self._group.rank == 0:
            epoch = values.get("epoch")
            place = {"epoch": float(epoch)} if isinstance(epoch, (int, float)) else {}
            self._folder.begin(self._number, {"number": self._number, "values": values}, place)

    def _give_way(self, state):
        self._write(state)
        self._folder.join()
        self._tell_written()
        self._group.barrier()
        self._group.close()
        sys.exit(EXIT_REQUEUE)

    # From the main thread, so that no line of the script's own is torn apart.
    def _tell_written(self):
        for place, path, why in self._folder.written():
            if path:
                report(checkpoint=str(path), **place)
            else:
                print(f"A commit can't be written to {self._folder.path}: {why}. The training goes on; make room there.",
                      file=sys.stderr, flush=True)
