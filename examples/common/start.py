"""Starts an example that trains with the package paceline. Import this before torch.

Exit codes: 0 trained, or told that it is enough; 1 failed, a lost rank included; 2 bad input; 75 start
me again.
"""

import sys
from pathlib import Path

import common.process  # noqa: F401
from common.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
# Paceline lets its jobs find the package; for all others a checkout has one. Alone it needs no build.
sys.path += [str(ROOT / "build/release/runtime/python"), str(ROOT / "runtime/python")]

from paceline import GroupError, PacelineError  # noqa: E402

EXIT_FAILED, EXIT_USAGE = 1, 2


def start(train):
    """Calls train(); an error that a person is meant to read ends the process with its sentence."""
    try:
        train()
    except (UserError, PacelineError) as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr, flush=True)
        sys.exit(EXIT_FAILED if isinstance(error, GroupError) else EXIT_USAGE)
