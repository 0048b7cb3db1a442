#!/usr/bin/env python3
"""clang-tidy on what has changed since it last had nothing to say.

  script/tidy.py [--jobs N] FILE...     C++ files that build/clang/compile_commands.json names

A file is looked at again when its text with all that it includes, comments too, or .clang-tidy or
the compiler's options differ; stamps of what was well lie in build/tidy. Exits 1 if there is
something to say.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIDY = "clang-tidy-14"
ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build/clang"
STAMPS = ROOT / "build/tidy"


def stamp_of(command, common):
    words = shlex.split(command["command"])
    del words[words.index("-o") : words.index("-o") + 2]
    words[words.index("-c")] = "-E"
    text = subprocess.run(words + ["-C"], cwd=command["directory"], capture_output=True, check=True)
    return STAMPS / hashlib.sha256(common + " ".join(words).encode() + text.stdout).hexdigest()


def look_at(command, common):
    """What clang-tidy says of a file; nothing if it is well, or was and has not changed."""
    try:
        stamp = stamp_of(command, common)
    except subprocess.CalledProcessError as error:
        return error.stderr.decode(errors="replace")
    if stamp.exists():
        return ""
    tidy = subprocess.run(
        [TIDY, "-quiet", f"-p={DATABASE}", command["file"]], capture_output=True, text=True, check=False
    )
    if tidy.returncode == 0:
        stamp.touch()
        return ""
    return tidy.stdout + tidy.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files at a time")
    parser.add_argument("files", nargs="+", metavar="FILE")
    typed = parser.parse_args()

    commands = {c["file"]: c for c in json.loads((DATABASE / "compile_commands.json").read_text())}
    files = [str(Path(file).resolve()) for file in typed.files]
    unknown = [file for file in files if file not in commands]
    if unknown:
        sys.exit(f"tidy.py: {unknown[0]} is not built by the preset clang; run: cmake --preset clang")
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    STAMPS.mkdir(parents=True, exist_ok=True)
    complaints = 0
    with ThreadPoolExecutor(typed.jobs) as pool:
        for said in pool.map(lambda file: look_at(commands[file], common), files):
            complaints += bool(said)
            print(said, end="", flush=True)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
