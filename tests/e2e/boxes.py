"""Boxes that stand on bad ground: a small disk of their own, a wall clock that is wrong. Shared by tests."""

import glob
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
APART = "PACELINE_TEST_APART"
FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
HOUR = 3600


def go_apart():
    """Starts this program again in namespaces of its own, with a shared memory of their own; leaves with 77 where that is not
    permitted."""
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"', "sh"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        print("skipped: no namespaces of its own for this user")
        sys.exit(77)
    os.execvpe("unshare", [*apart, sys.executable, *sys.argv], {**os.environ, APART: "1"})


class SmallDisk:
    """A box whose directory is a file system of its own."""

    def __init__(self, slots, options, kind=Box):
        self.box = kind(BINARY, slots=slots)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options + ",mode=0700", "tmpfs", str(self.box.directory)], check=True)
        self.box.__enter__()
        self.go = Path(f"{self.box.directory}.go")
        self.ballast = self.box.directory / "ballast"

    def close(self):
        self.go.unlink(missing_ok=True)
        self.box.close()
        subprocess.run(["umount", "--lazy", str(self.box.directory)], check=False)
        self.box.directory.rmdir()

    def fill_blocks(self):
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while file.write(bytes(64 << 10)):
                    pass
            except OSError:
                pass

    def fill_inodes(self):
        self.ballast.mkdir()
        try:
            for number in range(1 << 20):
                (self.ballast / str(number)).touch()
        except OSError:
            pass

    def make_room(self):
        subprocess.run(["rm", "-r", str(self.ballast)], check=True)


class WrongBox(Box):
    """A server with a wall clock of its own; its monotonic clock and the times of files are the machine's.

    libfaketime's stat() holds a semaphore that the server shares with its supervisors: who is killed there would stop them all
    for ever.
    """

    def up(self, *options):
        self.ahead = self.directory.with_suffix(".ahead")
        if not self.ahead.exists():
            self.set_clock(0)
        own = self.environment
        self.environment = {**own, "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(self.ahead), "FAKETIME_NO_CACHE": "1",
                            "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        try:
            super().up(*options)
        finally:
            self.environment = own

    def set_clock(self, seconds):
        """So far from the true time, for whoever runs and whoever comes."""
        fresh = self.ahead.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n")
        fresh.rename(self.ahead)

    def close(self):
        super().close()
        self.ahead.unlink(missing_ok=True)

    def clock_steps(self):
        return [round(event["by_seconds"] / HOUR) for event in self.events() if event["kind"] == "clock_set" and abs(event["by_seconds"]) > 60]
