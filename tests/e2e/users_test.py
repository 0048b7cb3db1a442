"""What one user may take of a server of root's while the others live: connections, memory, waiting jobs, launches."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
OWNER, OTHER = 40001, 40002  # made up: nobody has an account of these


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("paceline", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def as_user(uid, act):
    """What `act` returns in a process of that user's: a value that JSON can hold."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            told = json.dumps({"value": act()})
        except BaseException as error:  # the parent tells
            told = json.dumps({"error": repr(error)})
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = json.loads(pipe.read())
    os.waitpid(child, 0)
    if "error" in told:
        raise AssertionError(told["error"])
    return told["value"]


@unittest.skipIf(os.geteuid() != 0, "only root can act for several users")
class SharedBox(unittest.TestCase):
    options = ()

    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        self.box = Box(BINARY, slots=2)
        self.box.directory.chmod(0o711)
        stack.callback(self.box.close)
        self.box.up(*self.options)
        self.socket = self.box.directory / "paceline.sock"
        self.home = Path(tempfile.mkdtemp(prefix="paceline-users-"))
        stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        os.chown(self.home, OWNER, OWNER)
        self.home.chmod(0o755)

    def ask(self, uid, method, path, body="", headers=None):
        def act():
            connection = UnixConnection(self.socket)
            connection.request(method, path, body or None, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        status, text = as_user(uid, act)
        return status, text

    def get(self, uid, path):
        status, text = self.ask(uid, "GET", path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def submit(self, uid, spec, command):
        body = {"spec": spec, "launch": {"command": command, "directory": str(self.home), "umask": 18,
                                         "environment": {"PATH": os.environ["PATH"], "TOKEN": "t"}}}
        status, text = self.ask(uid, "POST", "/v1/jobs", json.dumps(body))
        self.assertEqual(status, 201, text)
        return json.loads(text)["id"]

    def until(self, happened, what):
        deadline = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), deadline, f"{what}:\n{self.box.log.read_text()[-3000:]}")
            time.sleep(0.05)


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) >> 10


class GreedyTest(SharedBox):
    """A user who takes what he can get."""

    def hold(self, uid, count, send):
        """A process of that user's with so many connections, on each of which was sent what the server takes of it. It leaves
        when the test is over."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                clients = [socket.socket(socket.AF_UNIX) for _ in range(count)]
                for client in clients:
                    client.settimeout(20)
                    client.connect(str(self.socket))
                    try:
                        client.sendall(send)
                    except OSError:
                        pass  # turned away
                os.write(writing, b"done")
                signal.pause()
            finally:
                os._exit(1)
        os.close(writing)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        with os.fdopen(reading) as pipe:
            self.assertEqual(pipe.read(4), "done")

    def assert_others_are_served(self):
        for uid in (0, OWNER):
            self.assertEqual(self.ask(uid, "GET", "/v1/jobs")[0], 200)
        self.assertEqual(self.box.call("queue", check=False).returncode, 0)

    def test_idle_connections_of_one_user_lock_nobody_out(self):
        self.hold(OTHER, 400, b"GET /v1/")
        self.assert_others_are_served()
        status, text = self.ask(OTHER, "GET", "/v1/jobs")
        self.assertEqual(status, 503)
        self.assertIn("as one user may", text)
        self.box.call("down")

    def test_large_bodies_of_one_user_take_little(self):
        before = resident_mib(self.box.server.pid)
        size = (4 << 20) - 1
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: {size + 1}\r\n\r\n".encode()
        self.hold(OTHER, 400, head + b"x" * size)
        self.assertLess(resident_mib(self.box.server.pid) - before, 120)
        self.assert_others_are_served()

    def test_answers_that_nobody_reads_take_little(self):
        body = json.dumps({"spec": {"hold": True, "checkpoint": "x" * 4000}, "launch": {"command": ["y" * 200_000], "directory": "/"}})
        for _ in range(20):
            self.assertEqual(self.ask(OTHER, "POST", "/v1/jobs", body)[0], 201)
        before = resident_mib(self.box.server.pid)
        self.hold(OTHER, 64, b"GET /v1/jobs HTTP/1.1\r\nHost: p\r\n\r\n" * 4)
        self.assertLess(resident_mib(self.box.server.pid) - before, 120)
        self.assert_others_are_served()


class FullTest(SharedBox):
    """A server that keeps very little."""
    options = ("--limit", "connections=16", "--limit", "waiting-jobs-per-user=3", "--limit", "launches-per-user=4M",
               "--limit", "points-per-second=10")

    def test_limits_are_shown(self):
        shown = {limit["name"]: limit for limit in self.get(OTHER, "/v1/limits")["limits"]}
        self.assertEqual(shown["connections"]["value"], 16)
        self.assertEqual(shown["connections"]["default"], 1024)
        self.assertEqual(shown["launches-per-user"]["value"], 4 << 20)
        self.assertIn("launches-per-user", self.box.call("limits").stdout)

    def test_waiting_jobs(self):
        for _ in range(3):
            self.submit(OTHER, {"hold": True}, ["true"])
        status, text = self.ask(OTHER, "POST", "/v1/jobs", '{"launch": {"command": ["true"], "directory": "/"}}')
        self.assertEqual((status, json.loads(text)["error"]["code"]), (503, "unavailable"))
        self.submit(OWNER, {"hold": True}, ["true"])
        self.submit(0, {"hold": True}, ["true"])

    def test_what_starts_jobs(self):
        body = json.dumps({"spec": {"hold": True}, "launch": {"command": ["x" * 900_000], "directory": "/",
                                                             "environment": {"A": "y" * 900_000}}})
        answers = [self.ask(OTHER, "POST", "/v1/jobs", body)[0] for _ in range(3)]
        self.assertEqual(answers, [201, 201, 503])


if __name__ == "__main__":
    unittest.main(verbosity=2)
