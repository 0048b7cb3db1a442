"""This process's place among the ranks of its gang, generation after generation."""

import contextlib
import copy
import hashlib
import hmac
import socket
from concurrent.futures import ThreadPoolExecutor, wait

from paceline.alone import Alone
from paceline.errors import GroupError, PacelineError
from paceline.group import Group
from paceline.timeline import OFF

LOOK_EVERY_S = 0.1


class Place:
    """What an environment says of one generation: torchrun's names, and PACELINE_GENERATION and PACELINE_GANG_SECRET
    where they are given. Raises PacelineError where they don't fit together."""

    def __init__(self, environment):
        self.environment = environment
        self.rank, self.size = self._number("RANK", 0), self._number("WORLD_SIZE", 1)
        if not 0 <= self.rank < self.size:
            raise PacelineError(f"RANK={self.rank} does not fit WORLD_SIZE={self.size}: ranks go from 0 to WORLD_SIZE - 1")
        self.local_rank = self._number("LOCAL_RANK", 0)
        self.generation = self._number("PACELINE_GENERATION", self._number("TORCHELASTIC_RESTART_COUNT", 0))
        self.near = self._number("LOCAL_WORLD_SIZE", self.size) == self.size  # all ranks run on this host
        self.address, self.port = environment.get("MASTER_ADDR"), self._number("MASTER_PORT", 0)
        if self.size > 1 and not (self.address and self.port):
            raise PacelineError(f"WORLD_SIZE={self.size} needs MASTER_ADDR and MASTER_PORT: start this under Paceline "
                                "or torchrun, or unset WORLD_SIZE")

    def group(self, timeout_s, called_off=lambda: False):
        """The group of the generation, once all its ranks have come. `called_off()`: it won't come about.
        Raises GroupError, PacelineError."""
        if self.size == 1:
            return Alone(self.generation)
        address = _numeric(self.address)
        group = Group(self.rank, self.size, self._secret(), self.generation,
                      None if self.near else _own_address(address, self.port), timeout_s)
        try:
            # torchrun's agent has the port, and a store behind it.
            if self.environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
                group.connect(self._meet_in_store(group.endpoint, address))
            else:
                name = self.meeting_name(address) if self.near else None
                _meet(group, called_off, name, address, self.port)
        except BaseException:
            group.close()
            raise
        return group

    def meeting_name(self, address):
        """Of the socket at which ranks of one host meet. Who can guess it can be there before them. So where the gang has
        a secret, it is drawn from it anew for each generation: those of before can be read in /proc/net/unix."""
        known = f"{self.environment.get('TORCHELASTIC_RUN_ID', '')}-{address}-{self.port}"
        if not self.environment.get("PACELINE_GANG_SECRET"):
            return f"paceline-{known}"
        drawn = hmac.new(self._secret(), f"{known}-{self.generation}".encode(), hashlib.sha256)
        return f"paceline-{drawn.hexdigest()}"

    def _meet_in_store(self, endpoint, address):
        from torch.distributed import PrefixStore, TCPStore

        store = PrefixStore(f"paceline/{self.generation}", TCPStore(address, self.port, self.size, False))
        store.set(str(self.rank), endpoint)
        return [store.get(str(each)).decode() for each in range(self.size)]

    def _secret(self):
        """The gang's own, where it was given one. Else one that others can guess: on one host they are kept out as
        other users, and of a network it is demanded that it can be trusted, as torchrun demands it."""
        given = self.environment.get("PACELINE_GANG_SECRET")
        if given:
            return given.encode()
        shared = self.environment.get("TORCHELASTIC_RUN_ID", "") + (self.address or "")
        return hashlib.sha256(shared.encode()).hexdigest().encode()

    def _number(self, name, default):
        return number(self.environment, name, default)


class Ranks:
    """The group that this process is in now, what carries gradients in it, and the timeline of this rank.

    `group` is None until connect(), `carrier` until it is set. `moved`: it was in another group before, or joined one.
    """

    def __init__(self, environment, timeout_s, timeline=OFF):
        self.timeout_s, self.timeline = timeout_s, timeline
        self.place, self.group, self.carrier, self.moved = Place(environment), None, None, False

    def connect(self):
        self.group = self.place.group(self.timeout_s)
        self.timeline.stands(self.group, self.place)

    def part(self):
        """All ranks leave the group; each of them calls it."""
        self.group.barrier()
        self.drop_carrier()
        self.group.close()

    def alone(self, act):
        """Does it as the only rank of a group of its own. Returns what it returned."""
        kept = self.place, self.group
        self.place = copy.copy(self.place)
        self.place.rank, self.place.size = 0, 1
        self.group = Alone(self.place.generation)
        try:
            return act()
        finally:
            self.place, self.group = kept

    def abort(self, reason):
        """This rank ends; the others are told why, wherever they wait for it. From any thread."""
        if self.group:
            self.group.abort(reason)
            with contextlib.suppress(GroupError, ValueError):
                self.group.barrier()  # what ran may just have ended; what runs next notices, and tells them

    def leave(self):
        """This rank alone leaves the group, which has failed, if there is one."""
        self.drop_carrier()
        group, self.group = self.group, None
        if group:
            group.close()

    def drop_carrier(self):
        carrier, self.carrier = self.carrier, None
        if carrier:
            carrier.close()

    def move(self, environment, called_off):
        """From a group that all have left to the next one."""
        self.leave()
        self.place, self.moved = Place(environment), True
        self.group = self.place.group(self.timeout_s, called_off)
        self.timeline.stands(self.group, self.place)


def number(environment, name, default):
    """The whole number in a variable. Raises PacelineError."""
    text = environment.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise PacelineError(f"{name}={text!r} is no whole number") from None


def _meet(group, called_off, *venue):
    """The group meets on a thread of its own, so that signals are handled here. Raises GroupError."""
    with ThreadPoolExecutor(1) as pool:
        meeting = pool.submit(group.meet, *venue)
        try:
            while not wait([meeting], LOOK_EVERY_S).done:
                if called_off():
                    group.abort()
            meeting.result()
        except GroupError as error:
            if called_off():
                raise GroupError("The gang goes on without this generation.", "left") from error
            raise
        except BaseException:
            group.abort("it was interrupted")
            raise


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
