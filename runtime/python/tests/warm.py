"""Python processes that had imported PyTorch before they were asked to run a script: the import takes longer than most of these tests
train. They are forked from one that does nothing else, and are children of the process that asks.

    if warm.WANTED: process = warm.start([sys.executable, "-u", "train.py", "--epochs", "3"], environment, folder, output)
"""

import atexit
import ctypes
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading

WANTED = "PACELINE_WARM" in os.environ
ASKS_MAX = 1 << 20  # bytes
PR_SET_CHILD_SUBREAPER = 36

_telling = threading.Lock()
_forks = None  # a connection to the process that forks


def start(command, environment, folder, output):
    """What subprocess.Popen would start, as far as Process goes. `command`: the interpreter, its options, a script, arguments."""
    global _forks
    with _telling:
        if _forks is None:
            _forks = _begin(command[0])
        asked = {"command": command[2:], "environment": environment, "folder": folder}
        socket.send_fds(_forks, [json.dumps(asked).encode()], [output.fileno()])
        return Process(int(_forks.recv(ASKS_MAX)))


def _begin(interpreter):
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen([interpreter, "-u", __file__, str(its.fileno())], pass_fds=[its.fileno()],
                                   stdin=subprocess.DEVNULL,
                                   env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    atexit.register(_end, process, own)
    return own


def _end(process, connection):
    connection.close()
    process.wait()


class Process:
    """The part of subprocess.Popen that is needed."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None
        self._waiting = threading.Lock()

    def poll(self):
        with self._waiting:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

    def wait(self, timeout=None):
        if self.poll() is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                if not select.select([descriptor], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout)
            finally:
                os.close(descriptor)
        return self.poll()

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)


def _fork_on_demand(asks):
    """Returns, in a process of its own for each, what it is to run. Ends with whoever asks."""
    while True:
        data, descriptors, *_ = socket.recv_fds(asks, ASKS_MAX, 1)
        if not data:
            sys.exit()
        reading, writing = os.pipe()
        between = os.fork()  # and ends at once, so that the one that asks becomes the parent
        if between == 0:
            pid = os.fork()
            if pid == 0:
                for each in (reading, writing, asks.detach()):
                    os.close(each)
                return json.loads(data), descriptors[0]
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        asks.send(os.read(reading, 32))
        for each in (reading, writing, descriptors[0]):
            os.close(each)


def _become(asked, output):
    """As if the interpreter had been started so."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(asked["environment"])
    if asked["folder"]:
        os.chdir(asked["folder"])
    script = asked["command"][0]
    paths = os.environ.get("PYTHONPATH", "").split(":")
    sys.argv, sys.path[:] = asked["command"], [os.path.dirname(script), *paths, *sys.path[1:]]
    random.seed()
    numpy.random.seed()
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    import numpy
    import torch  # noqa: F401

    _become(*_fork_on_demand(socket.socket(fileno=int(sys.argv[1]))))
