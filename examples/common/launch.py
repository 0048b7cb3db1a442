"""Starts and ends an example. Import this before torch.

Importing it sets one thread per worker and starts the attendant, which takes SIGTERM: before the training
has begun a notice ends the process at once with code 75, later it is a flag that the loop reads.

Exit codes: 0 trained or told that it is enough, 1 failed (a lost peer too), 2 bad input, 75 start me
again.
"""

import ctypes
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

from common.attendant import EXIT_FAILED, EXIT_REQUEUE, Attendant  # noqa: E402
from common.errors import UserError  # noqa: E402

EXIT_USAGE = 2
PEER_WORDS = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Timed out")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def _keep_freed_memory():
    # Each step frees and takes the same large blocks; giving them back to the kernel costs a fifth of the time.
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # not glibc
    mallopt(M_MMAP_THRESHOLD, 1 << 30)
    mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


attendant = Attendant()
attendant.start()
_keep_freed_memory()


def launch(train):
    """Ends the process with the exit code that train() returns."""
    try:
        code = train()
    except UserError as error:
        code = _complain(error, EXIT_USAGE)
    except RuntimeError as error:
        if not any(word in str(error) for word in PEER_WORDS):
            raise
        code = _complain(f"lost a peer: {error}", EXIT_REQUEUE if attendant.notice else EXIT_FAILED)
    sys.stdout.flush()
    # Not sys.exit: after a lost peer, torch's own clean-up can wait for it.
    os._exit(code)


def _complain(sentence, code):
    print(f"{sys.argv[0]}: {sentence}", file=sys.stderr, flush=True)
    return code
