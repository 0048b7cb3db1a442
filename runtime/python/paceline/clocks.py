"""The clocks of a generation's ranks: what each one's monotonic clock shows is told by one that all agree on.

Processes of one host have the same clock. Of another host's, rank 0's is asked for a few times, and the quickest answer counts:
half of the time that it took is how wrong it may be.
"""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

ROUNDS = 8


@dataclass
class Clock:
    """`offset_ns`: added to this process's clock it makes the gang's; so far it may be wrong by `uncertainty_ns`. `wall_ns`: added to
    the gang's it makes the time since 1970, as the host of the attempt's first rank 0 knew it."""
    offset_ns: int
    uncertainty_ns: int
    wall_ns: int

    def in_us(self):
        return {"offset_us": self.offset_ns // 1000, "uncertainty_us": -(-self.uncertainty_ns // 1000),
                "wall_us": self.wall_ns // 1000}


def agree(group, known=None, now=time.monotonic_ns, host=None):
    """The Clock of this rank; every rank of the group calls it. `known`: what an earlier generation came to: as long as it is
    carried on by rank 0, the gang's clock stays the same. Raises GroupError."""
    own = {"host": host or _host(), "clock": None}
    if group.rank == 0:
        own["clock"] = asdict(known or Clock(0, 0, time.time_ns() - now()))
    everyones = [json.loads(each) for each in group.all_gather_bytes(json.dumps(own).encode(), "agrees on a clock")]
    hosts, its = [each["host"] for each in everyones], Clock(**everyones[0]["clock"])
    if group.rank == 0:
        for rank in range(1, group.size):
            if hosts[rank] != hosts[0]:
                _answer(group, rank, now)
    elif own["host"] != hosts[0]:
        uncertainty, offset = _ask(group, now)
        return Clock(its.offset_ns + offset, its.uncertainty_ns + uncertainty, its.wall_ns)
    return its


def _ask(group, now):
    """(uncertainty, offset) of rank 0's clock."""
    word, tries = torch.zeros(1, dtype=torch.int64), []
    for _ in range(ROUNDS):
        begun = now()
        group.send(word, 0)
        group.receive(word, 0)
        ended = now()
        tries.append(((ended - begun + 1) // 2, word.item() - (begun + ended) // 2))
    return min(tries)


def _answer(group, rank, now):
    word = torch.zeros(1, dtype=torch.int64)
    for _ in range(ROUNDS):
        group.receive(word, rank)
        word[0] = now()
        group.send(word, rank)


def _host():
    """The same for processes with the same monotonic clock: of one boot, in one time namespace."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/time")
    except OSError:
        return str(time.time_ns()) + str(os.getpid())  # nobody's but this one's
