"""Asks the worker socket whether this training is done."""

TIMEOUT_S = 1.0
MAX_REPLY_BYTES = 65536


def ask_should_stop(path):
    """GET /v1/should_stop over the unix socket `path`; returns the reason to stop, or None to go on.

    Any trouble counts as "go on": a training does not depend on who watches it.
    """
    import http.client  # only workers with a socket pay for these
    import json
    import socket

    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT_S)
    try:
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(TIMEOUT_S)
        connection.sock.connect(path)
        connection.request("GET", "/v1/should_stop", headers={"Connection": "close"})
        reply = connection.getresponse()
        body = json.loads(reply.read(MAX_REPLY_BYTES))
        if reply.status == 200 and body.get("should_stop") is True:
            return str(body.get("reason"))
    except (OSError, ValueError, AttributeError, http.client.HTTPException):
        pass
    finally:
        connection.close()
    return None
