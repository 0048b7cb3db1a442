"""How the ranks of a generation learn each other's endpoints: they meet at a place that all know.

Rank 0 waits there for the others; each proves that it knows the gang's secret, and so does rank 0
(HMAC-SHA-256 over what both said). Where all run on one host the place is a unix socket without a file, and
both ends see that the other is a process of their own user. Lines of JSON:

    rank 0   {"nonce": N}
    others   {"rank": R, "generation": G, "endpoint": E, "nonce": M, "proof": HMAC("joins", N, M, R, G, E)}
    rank 0   {"endpoints": [...], "proof": HMAC("meets", N, M, endpoints)}     once all have come
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import selectors
import socket
import struct
import time

from paceline.errors import GroupError

LINE_MAX = 1 << 18
PAUSE_S = 0.02


def meet(rank, size, endpoint, place, secret, generation=0, within_s=300.0, called_off=lambda: False):
    """Returns the endpoints of all ranks, in their order. Raises GroupError.

    `place`: (address, port), or the name of a unix socket. `called_off()`: the generation won't come about.
    """
    if size == 1:
        return [endpoint]
    patience = _Patience(time.monotonic() + within_s, called_off)
    if rank == 0:
        return _Host(size, endpoint, secret, generation, patience).hold(place)
    return _join(rank, endpoint, place, secret, generation, patience)


class _Patience:
    """How long a meeting is waited for."""

    def __init__(self, deadline, called_off):
        self._deadline, self._called_off = deadline, called_off

    def is_over(self):
        """Raises GroupError where the meeting was called off."""
        if self._called_off():
            raise GroupError("The gang goes on without this generation.", "left")
        return time.monotonic() > self._deadline


def _proof(secret, *parts):
    text = json.dumps(parts, separators=(",", ":"))
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def _is_local(place):
    return isinstance(place, str)


def _socket(place):
    if _is_local(place):
        return socket.socket(socket.AF_UNIX), "\0" + place
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM), place


def _name(place):
    return place if _is_local(place) else f"{place[0]}:{place[1]} (MASTER_ADDR, MASTER_PORT)"


def _is_own(connection):
    """Is the other end of a unix socket a process of this user, or root's?"""
    if connection.family != socket.AF_UNIX:
        return True
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in (os.geteuid(), 0)


def _write(connection, **values):
    connection.sendall(json.dumps(values).encode() + b"\n")


class _Host:
    """Rank 0, to which all others come."""

    def __init__(self, size, endpoint, secret, generation, patience):
        self._size, self._secret, self._generation = size, secret, generation
        self._patience = patience
        self._endpoints = {0: endpoint}
        self._guests = {}  # by rank: connection, its nonce
        self._heard = {}  # by connection: what it said so far
        self._nonce = secrets.token_hex(16)
        self._selector = selectors.DefaultSelector()

    def hold(self, place):
        with contextlib.ExitStack() as open_things:
            listener = open_things.enter_context(self._listen(place))
            open_things.callback(self._close_all)
            self._selector.register(listener, selectors.EVENT_READ)
            while len(self._endpoints) < self._size:
                if self._patience.is_over():
                    raise self._late()
                for key, _ in self._selector.select(0.1):
                    if key.fileobj is listener:
                        self._accept(listener)
                    else:
                        self._hear(key.fileobj)
            endpoints = [self._endpoints[rank] for rank in range(self._size)]
            for connection, nonce in self._guests.values():
                with contextlib.suppress(OSError):  # it is missed when the group connects
                    connection.settimeout(5)
                    _write(connection, endpoints=endpoints,
                           proof=_proof(self._secret, "meets", self._nonce, nonce, endpoints))
            return endpoints

    def _listen(self, place):
        listener, address = _socket(place)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(self._size + 64)
        except OSError as error:
            listener.close()
            raise GroupError(f"Rank 0 can't listen at {_name(place)}: {error.strerror}.", "system", 0) from error
        listener.setblocking(False)
        return listener

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            if not _is_own(connection):
                connection.close()
                return
            connection.setblocking(False)
            self._heard[connection] = b""
            self._selector.register(connection, selectors.EVENT_READ)
            _write(connection, nonce=self._nonce)

    def _hear(self, connection):
        try:
            some = connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            some = b""
        heard = self._heard[connection] + some
        self._heard[connection] = heard
        if some and b"\n" not in heard and len(heard) < LINE_MAX:
            return
        guest = self._read(heard)
        self._selector.unregister(connection)
        del self._heard[connection]
        if guest is None or not some:
            connection.close()
            return
        rank, endpoint, nonce = guest
        earlier = self._guests.pop(rank, None)
        if earlier:
            earlier[0].close()
        self._guests[rank] = (connection, nonce)
        self._endpoints[rank] = endpoint

    def _read(self, heard):
        try:
            said = json.loads(heard)
            rank, endpoint, nonce = int(said["rank"]), str(said["endpoint"]), str(said["nonce"])
            proof = _proof(self._secret, "joins", self._nonce, nonce, rank, self._generation, endpoint)
            known = hmac.compare_digest(proof, str(said["proof"]))
        except (ValueError, KeyError, TypeError):
            return None
        return (rank, endpoint, nonce) if known and 0 < rank < self._size else None

    def _late(self):
        missing = [rank for rank in range(self._size) if rank not in self._endpoints]
        names = ", ".join(map(str, missing[:8])) + (" and more" if len(missing) > 8 else "")
        return GroupError(f"Rank{'s' if len(missing) > 1 else ''} {names} did not come to the meeting.",
                          "timed out", missing[0])

    def _close_all(self):
        for connection in [*self._heard, *(each[0] for each in self._guests.values())]:
            connection.close()
        self._selector.close()


def _join(rank, endpoint, place, secret, generation, patience):
    why = "nobody listens there"
    while not patience.is_over():
        connection, address = _socket(place)
        try:
            with connection:
                connection.settimeout(1)
                connection.connect(address)
                # On the own machine, a port nobody listens on can get connected to itself.
                is_itself = not _is_local(place) and connection.getsockname() == connection.getpeername()
                if not _is_own(connection):
                    raise _Foreign(f"Another user's process waits at {_name(place)}.")
                if not is_itself:
                    return _ask(connection, rank, endpoint, secret, generation, patience)
        except _Foreign as error:
            raise GroupError(str(error), "refused", 0) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = getattr(error, "strerror", None) or "it hung up"
        time.sleep(PAUSE_S)
    raise GroupError(f"Rank 0 can't be reached at {_name(place)}: {why}.", "timed out", 0)


class _Foreign(Exception):
    pass


def _ask(connection, rank, endpoint, secret, generation, patience):
    lines = _Lines(connection, patience)
    theirs, mine = str(lines.next()["nonce"]), secrets.token_hex(16)
    _write(connection, rank=rank, generation=generation, endpoint=endpoint, nonce=mine,
           proof=_proof(secret, "joins", theirs, mine, rank, generation, endpoint))
    answer = lines.next()
    endpoints = [str(each) for each in answer["endpoints"]]
    proof = _proof(secret, "meets", theirs, mine, endpoints)
    if not hmac.compare_digest(proof, str(answer["proof"])):
        raise _Foreign("Whoever answers where the gang meets is not its rank 0.")
    return endpoints


class _Lines:
    def __init__(self, connection, patience):
        self._connection, self._patience = connection, patience
        self._heard = b""
        connection.settimeout(0.1)

    def next(self):
        while b"\n" not in self._heard:
            if self._patience.is_over():
                raise OSError("no answer")
            try:
                some = self._connection.recv(65536)
            except TimeoutError:
                continue
            if not some or len(self._heard) > LINE_MAX:
                raise ConnectionError("it hung up")
            self._heard += some
        line, self._heard = self._heard.split(b"\n", 1)
        return json.loads(line)
