"""The client of the worker socket, by which a worker talks with Paceline. Needs nothing but Python."""

import http.client
import json
import os
import socket

ANSWER_MAX = 1 << 16


class WorkerSocket:
    """REQUIRES: `path` is the unix socket of this worker ($PACELINE_SOCKET). Calls raise OSError."""

    def __init__(self, path, timeout_s=15.0):
        self._path, self._timeout_s = path, timeout_s

    def reason_to_stop(self):
        """"target_reached", "notice", or None: go on."""
        answer = self._ask("GET", "/v1/should_stop")
        return answer.get("reason") if answer.get("should_stop") is True else None

    def gang_news(self, after):
        """(version, next, said, stacks): waits for a version other than `after`, for some seconds. `next`: what is to become
        of this worker in its gang's next generation, or None. `said`: what is known there of what say_of_gang() said.
        `stacks`: how often somebody wanted this worker's stacks."""
        answer = self._ask("GET", f"/v1/gang?after={after}")
        said = {name: answer.get(name, 0) for name in ("ready", "stands")}
        return int(answer["version"]), answer.get("next"), said, int(answer.get("stacks", 0))

    def tell_stacks(self, text):
        """The Python stacks of all threads of this process."""
        self._ask("POST", "/v1/stacks", {"pid": os.getpid(), "text": text})

    def say_of_gang(self, **said):
        """`ready`: the generation that this worker can join, as soon as the others come to the end of a step; `stands`:
        the one of which it has met all ranks."""
        self._ask("POST", "/v1/gang", said)

    def hand_on_timeline(self, piece):
        """Raises ValueError, too, where pieces of a timeline are not taken."""
        try:
            self._ask("POST", "/v1/timeline", piece)
        except _Refused as error:
            raise ValueError(str(error)) from error

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("paceline", timeout=self._timeout_s)
        try:
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(self._timeout_s)
            connection.sock.connect(self._path)
            connection.request(method, path, None if body is None else json.dumps(body), {"Connection": "close"})
            reply = connection.getresponse()
            answer = json.loads(reply.read(ANSWER_MAX))
            if reply.status != 200 or not isinstance(answer, dict):
                raise (_Refused if 400 <= reply.status < 500 else ConnectionError)(f"{method} {path}: {answer}")
            return answer
        except (ValueError, http.client.HTTPException) as error:
            raise ConnectionError(f"{method} {path}: {error}") from error
        finally:
            connection.close()


class _Refused(ConnectionError):
    """The same again would be refused again."""


def own_socket():
    """The WorkerSocket of this process; None outside of Paceline."""
    path = os.environ.get("PACELINE_SOCKET")
    return WorkerSocket(path) if path else None
