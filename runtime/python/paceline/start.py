"""init(): this process among its peers, as the environment describes it."""

import os
import sys

from paceline.attendant import Attendant
from paceline.errors import GroupError, PacelineError, is_want_of_memory
from paceline.ranks import Ranks
from paceline.timeline import OFF, Timeline
from paceline.worker_socket import own_socket


def init(timeout_s=600.0):
    """Returns the Job of this process, once all ranks of its gang are there.

    `timeout_s`: how long a rank waits for others that don't go on; time in which the process is stopped
    doesn't count. Raises GroupError where they don't come, PacelineError for a bad environment.
    """
    from paceline.job import Job  # PyTorch takes its time: signals are minded before

    socket = own_socket()
    attendant = Attendant(socket)
    ranks = Ranks(os.environ, timeout_s, Timeline(socket) if socket else OFF)
    _tell_of_failures(ranks)
    if os.environ.get("PACELINE_RESIZE") == "in-place":
        attendant.hear_of_generations()
    joins = os.environ.get("PACELINE_JOINS") == "1"
    if not joins:
        ranks.connect()
    return Job(ranks, attendant, joins)


def _sentence(error, rank):
    """What the others are told of it."""
    if isinstance(error, PacelineError):
        return str(error)
    if is_want_of_memory(error):
        return (f"Rank {rank} has too little memory ({str(error).strip() or type(error).__name__}). Give each worker more, or "
                "let fewer run on one machine.")
    return f"{type(error).__name__}: {error}"


def _tell_of_failures(ranks):
    """An exception that ends this process ends the other ranks, too, and they say which it was."""
    shown = sys.excepthook

    def tell(kind, error, trace):
        if not isinstance(error, GroupError):  # of which all know
            ranks.abort(_sentence(error, ranks.place.rank))
        shown(kind, error, trace)
        if is_want_of_memory(error):  # whose own words rarely say it
            print(_sentence(error, ranks.place.rank), file=sys.stderr, flush=True)

    sys.excepthook = tell
