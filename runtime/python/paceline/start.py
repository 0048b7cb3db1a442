"""init(): this process among its peers, as the environment describes it."""

import os

from paceline.attendant import Attendant
from paceline.ranks import Ranks
from paceline.worker_socket import own_socket


def init(timeout_s=600.0):
    """Returns the Job of this process, once all ranks of its gang are there.

    `timeout_s`: how long a rank waits for others that don't go on; time in which the process is stopped
    doesn't count. Raises GroupError where they don't come, PacelineError for a bad environment.
    """
    from paceline.job import Job  # PyTorch takes its time: signals are minded before

    attendant = Attendant(own_socket())
    ranks = Ranks(os.environ, timeout_s)
    joins = os.environ.get("PACELINE_JOINS") == "1"
    if not joins:
        ranks.connect()
    if os.environ.get("PACELINE_RESIZE") == "in-place":
        attendant.hear_of_generations()
    return Job(ranks, attendant, joins)
