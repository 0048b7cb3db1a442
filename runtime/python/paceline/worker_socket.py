"""The client of the worker socket, by which a worker talks with Paceline. Needs nothing but Python."""

import http.client
import json
import socket

ANSWER_MAX = 1 << 16


class WorkerSocket:
    """REQUIRES: `path` is the unix socket of this worker ($PACELINE_SOCKET). Calls raise OSError."""

    def __init__(self, path, timeout_s=15.0):
        self._path, self._timeout_s = path, timeout_s

    def reason_to_stop(self):
        """"target_reached", "notice", or None: go on."""
        answer = self._get("/v1/should_stop")
        return answer.get("reason") if answer.get("should_stop") is True else None

    def _get(self, path):
        connection = http.client.HTTPConnection("paceline", timeout=self._timeout_s)
        try:
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(self._timeout_s)
            connection.sock.connect(self._path)
            connection.request("GET", path, headers={"Connection": "close"})
            reply = connection.getresponse()
            answer = json.loads(reply.read(ANSWER_MAX))
            if reply.status != 200 or not isinstance(answer, dict):
                raise ConnectionError(f"GET {path}: {answer}")
            return answer
        except (ValueError, http.client.HTTPException) as error:
            raise ConnectionError(f"GET {path}: {error}") from error
        finally:
            connection.close()
