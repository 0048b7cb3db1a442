"""init(): this process among its peers, as the environment describes it."""

import hashlib
import os
import socket

from paceline.alone import Alone
from paceline.attendant import Attendant
from paceline.errors import PacelineError
from paceline.group import Group
from paceline.meeting import meet
from paceline.worker_socket import WorkerSocket


def init(timeout_s=600.0):
    """Returns the Job of this process, once all ranks of its gang are there.

    `timeout_s`: how long a rank waits for others that don't go on; time in which the process is stopped
    doesn't count. Raises GroupError where they don't come, PacelineError for a bad environment.
    """
    from paceline.job import Job  # PyTorch takes its time: signals are minded before

    path = os.environ.get("PACELINE_SOCKET")
    attendant = Attendant(WorkerSocket(path) if path else None)
    rank, size = _number("RANK", 0), _number("WORLD_SIZE", 1)
    if not 0 <= rank < size:
        raise PacelineError(f"RANK={rank} does not fit WORLD_SIZE={size}: ranks go from 0 to WORLD_SIZE - 1")
    group = _join(rank, size, timeout_s) if size > 1 else Alone()
    return Job(group, attendant, _number("LOCAL_RANK", 0))


def _join(rank, size, timeout_s):
    address, port = os.environ.get("MASTER_ADDR"), _number("MASTER_PORT", 0)
    if not address or not port:
        raise PacelineError(f"WORLD_SIZE={size} needs MASTER_ADDR and MASTER_PORT: start this under Paceline "
                            "or torchrun, or unset WORLD_SIZE")
    generation = _number("PACELINE_GENERATION", _number("TORCHELASTIC_RESTART_COUNT", 0))
    address = _numeric(address)
    near = _number("LOCAL_WORLD_SIZE", size) == size
    place = f"paceline-{address}-{port}" if near else (address, port)
    group = Group(rank, size, _secret(), generation, None if near else _own_address(address, port), timeout_s)
    try:
        # torchrun's agent has the port, and a store behind it.
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            endpoints = _meet_in_store(rank, size, group.endpoint, address, port, generation)
        else:
            endpoints = meet(rank, size, group.endpoint, place, _secret(), generation, timeout_s)
        group.connect(endpoints)
    except BaseException:
        group.close()
        raise
    return group


def _meet_in_store(rank, size, endpoint, address, port, generation):
    from torch.distributed import PrefixStore, TCPStore

    store = PrefixStore(f"paceline/{generation}", TCPStore(address, port, size, False))
    store.set(str(rank), endpoint)
    return [store.get(str(each)).decode() for each in range(size)]


def _secret():
    """The gang's own, where it was given one. Else one that others can guess: on one host they are kept out as
    other users, and of a network it is demanded that it can be trusted, as torchrun demands it."""
    given = os.environ.get("PACELINE_GANG_SECRET")
    if given:
        return given.encode()
    shared = os.environ.get("TORCHELASTIC_RUN_ID", "") + os.environ.get("MASTER_ADDR", "")
    return hashlib.sha256(shared.encode()).hexdigest().encode()


def _own_address(address, port):
    """The address of this host from which rank 0's is reached."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, port))
        return probe.getsockname()[0]


def _numeric(address):
    try:
        return socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][4][0]
    except OSError as error:
        raise PacelineError(f"MASTER_ADDR={address} is no address of a host: {error.strerror}") from error


def _number(name, default):
    text = os.environ.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise PacelineError(f"{name}={text!r} is no whole number") from None
