"""Several people of one machine, as real users of it: what they ask of a server, each in a process of their own.

    class MyTest(SharedBox):
        def test_it(self):
            job = self.submit(OWNER, {}, ["sleep", "600"])
            self.assertEqual(self.ask(OTHER, "GET", f"/v1/jobs/{job}/logs")[0], 403)
"""

import http.client
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack, closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
import accounts
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
OWNER, OTHER = 40001, 40002
SECRET = "s3cret"  # stands in everything that is the owner's alone


def add_people(further=None, **options):
    """Makes the owner and the other user known to this process, and `further` ones by name and uid; see accounts.add. Skips the
    module where that may not be."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can act for several users")
    try:
        accounts.add({"paceline-owner": OWNER, "paceline-other": OTHER} | (further or {}), **options)
    except accounts.NotPermitted as refusal:
        raise unittest.SkipTest(str(refusal))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("paceline", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def as_user(uid, act, gid=None, groups=()):
    """What `act` returns in a process of that user's, in these groups alone: a value that JSON can hold."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setresgid(*[uid if gid is None else gid] * 3)
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


class SharedBox(unittest.TestCase):
    slots, options = 2, ()

    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        self.box = Box(BINARY, slots=self.slots)
        self.box.directory.chmod(0o711)
        stack.callback(self.box.close)
        self.box.up(*self.options)
        self.socket = self.box.directory / "paceline.sock"
        self.home = Path(tempfile.mkdtemp(prefix="paceline-users-"))
        stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        os.chown(self.home, OWNER, OWNER)
        self.home.chmod(0o755)

    def ask(self, uid, method, path, body="", headers=None, **groups):
        def act():
            with closing(UnixConnection(self.socket)) as connection:
                try:
                    connection.request(method, path, body or None, headers or {})
                except BrokenPipeError:
                    pass  # turned away: why is there to be read
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
        status, text = as_user(uid, act, **groups)
        return status, text

    def get(self, uid, path):
        status, text = self.ask(uid, "GET", path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def submit(self, uid, spec, command, **groups):
        body = {"spec": spec, "launch": {"command": command, "directory": str(self.home), "umask": 18,
                                         "environment": {"PATH": os.environ["PATH"], "TOKEN": SECRET}}}
        status, text = self.ask(uid, "POST", "/v1/jobs", json.dumps(body), **groups)
        self.assertEqual(status, 201, text)
        return json.loads(text)["id"]

    def occupy(self, uid, act):
        """A process of that user's that holds what `act` returns until the test is over; how many those are."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                held = act()
                os.write(writing, str(len(held)).encode())
                signal.pause()
            finally:
                os._exit(1)
        os.close(writing)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            return int(pipe.read(16) or b"0")

    def hold(self, uid, count, send):
        """So many connections of that user's, on each of which was sent what the server takes of it."""

        def connect():
            clients = [socket.socket(socket.AF_UNIX) for _ in range(count)]
            for client in clients:
                client.settimeout(20)
                client.connect(str(self.socket))
                try:
                    client.sendall(send)
                except OSError:
                    pass  # turned away
            return clients

        self.assertEqual(self.occupy(uid, connect), count)

    def until(self, happened, what):
        deadline = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), deadline, f"{what}:\n{self.box.log.read_text()[-3000:]}")
            time.sleep(0.05)


class PeoplesBox(SharedBox):
    """Its users are made known once, however many classes of a module there are."""

    known = False

    @classmethod
    def setUpClass(cls):
        if not PeoplesBox.known:
            add_people()
        PeoplesBox.known = True
