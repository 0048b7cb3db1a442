"""Accounts of people whom this machine does not know, for one process and those that it starts: they stand in copies of
/etc/passwd, /etc/group and /etc/shadow in a mount namespace of its own.

    accounts.add({"ann": 40001, "ben": 40002})      # before threads are started; needs root
"""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

CLONE_NEWNS = 0x00020000


class NotPermitted(Exception):
    """This machine lets nobody make a mount namespace."""


def add(users, teams=None, shells=None, expired=()):
    """Adds those users, by name and uid, each with a group of the same name and number and /tmp as home. `teams`: further
    groups, name: (gid, [members]). `shells`: the shells of those who don't have /bin/sh. `expired`: whose accounts are."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise NotPermitted(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    _mount("--make-rprivate", "/")
    shell_of = {name: "/bin/sh" for name in users} | (shells or {})
    _extend("passwd", [f"{name}:x:{uid}:{uid}::/tmp:{shell_of[name]}" for name, uid in users.items()])
    _extend("group", [f"{name}:x:{uid}:" for name, uid in users.items()]
            + [f"{name}:x:{gid}:{','.join(members)}" for name, (gid, members) in (teams or {}).items()])
    _extend("shadow", [f"{name}:*:19000:0:99999:7::{1 if name in expired else ''}:" for name in users])


def _extend(name, lines):
    path = Path("/etc") / name
    with tempfile.NamedTemporaryFile("w", prefix=f"paceline-{name}-") as copy:
        copy.write(path.read_text() + "\n".join(lines) + "\n")
        copy.flush()
        os.chmod(copy.name, path.stat().st_mode & 0o777)
        _mount("--bind", copy.name, str(path))


def _mount(*arguments):
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotPermitted(done.stderr.strip())
