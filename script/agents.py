"""Machines that lend a Box's server their slots, over TLS on loopback: each an agent with a directory of its own. Shared by tests and
benchmarks.

    token, address = invite(box, "--label", "site=there")
    agent = Agent(binary, directory)
    agent.start("--join", address, "--token", "-", "--node", "other", token=token)
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from box import Failed

SECONDS = 60


def address_of(box):
    """Where a server that was started with --listen is reached."""
    return re.search(r"paceline login (\S+)", box.log.read_text())[1]


def invite(box, *options):
    """The token, and the address, of the line to paste."""
    line = box.call("node", "invite", *options).stdout
    told = re.fullmatch(r"echo (plj_\S+) \| paceline agent --join (\S+) --token -\n", line)
    if not told:
        raise Failed(f"no line to paste: {line}")
    return told[1], told[2]


class Agent:
    """A machine of its own, as far as its agent can tell."""

    def __init__(self, binary, directory):
        self.binary, self.directory, self.process = str(binary), Path(directory), None
        self.log = self.directory.with_suffix(".log")

    def start(self, *options, token=None, within=()):
        """`within`: what runs the agent, if not this process itself."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*within, self.binary, "agent", "--dir", str(self.directory), *options], text=True,
                                            stdin=subprocess.PIPE, stdout=log, stderr=log)
        with contextlib.suppress(BrokenPipeError):  # it has ended by then
            self.process.stdin.write((token or "") + "\n")
            self.process.stdin.close()

    def said(self):
        return self.log.read_text()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=SECONDS)

    def close(self):
        if self.process and self.process.poll() is None:
            self.end(signal.SIGKILL)
        mark = f"PACELINE_DIR={self.directory}".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.log.unlink(missing_ok=True)
