"""Python environments of the tests, each with one framework from PyPI: build/frameworks/NAME, made of requirements/NAME.txt, and made anew
only when that file changes. Every package is pinned by version and hash, and pip takes nothing else.

    python = environments.python("jax")      # …/build/frameworks/jax/bin/python3
"""

import hashlib
import shutil
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEBIANS = "/usr/bin/python3"
ON_DEBIANS_PYTORCH = {"huggingface", "lightning"}
SECONDS_MAX = 600
UNREACHED = ("connection broken by", "timed out", "HTTP error")  # what pip says then


def python(name):
    """The interpreter of the environment. Raises SkipTest where PyPI can't be reached, AssertionError where pip refuses."""
    requirements = HERE / f"requirements/{name}.txt"
    place = ROOT / "build/frameworks" / name
    stamp = place / "made-of"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        make(place, requirements, ["--system-site-packages"] if name in ON_DEBIANS_PYTORCH else [])
        stamp.write_text(wanted)
    return place / "bin/python3"


def make(place, requirements, options):
    shutil.rmtree(place, ignore_errors=True)
    made = run(DEBIANS, "-m", "venv", *options, place)
    if made.returncode != 0:
        raise unittest.SkipTest("Debian's python3-venv is not installed: script/bootstrap --frameworks")
    done = run(place / "bin/python3", "-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--require-hashes", "--only-binary",
               ":all:", "--retries", "1", "--timeout", "30", "--requirement", requirements)
    if done.returncode != 0 and any(words in done.stdout for words in UNREACHED):
        raise unittest.SkipTest(f"PyPI can't be reached, which has what {requirements.name} names")
    if done.returncode != 0:
        raise AssertionError(f"pip did not install {requirements.name}:\n{done.stdout[-4000:]}")


def run(*command):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS_MAX)
