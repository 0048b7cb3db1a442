"""Starts and ends an example. Import this before torch.

Importing it sets one thread per worker and starts the attendant, which takes SIGTERM: before the
training has begun a notice ends the process at once with code 75, later it is a flag that the loop
reads.

Exit codes: 0 trained, or told that it is enough; 1 failed, a lost peer included; 2 bad input;
75 start me again.
"""

import ctypes
import os
import sys
import traceback

os.environ.setdefault("OMP_NUM_THREADS", "1")

from common.attendant import EXIT_FAILED, EXIT_REQUEUE, Attendant  # noqa: E402
from common.errors import UserError  # noqa: E402

EXIT_USAGE = 2
PEER_WORDS = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Timed out")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def _keep_freed_memory():
    # Each step takes the same large blocks again; giving them back costs a fifth of the time.
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # not glibc
    mallopt(M_MMAP_THRESHOLD, 1 << 30)
    mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


attendant = Attendant()
_keep_freed_memory()


def launch(train):
    """Ends the process with the exit code that train() returns."""
    try:
        code = train()
    except UserError as error:
        code = _complain(error, EXIT_USAGE)
    except Exception as error:
        code = EXIT_REQUEUE if attendant.notice else EXIT_FAILED
        if _is_lost_peer(error):
            _complain(f"lost a peer ({str(error).splitlines()[0]}); start the job again to go on "
                      "from its last checkpoint", code)
        else:
            traceback.print_exc()
            code = EXIT_FAILED
    sys.stdout.flush()
    # Not sys.exit: after a lost peer, torch's own clean-up can wait for it.
    os._exit(code)


def _is_lost_peer(error):
    return isinstance(error, RuntimeError) and any(word in str(error) for word in PEER_WORDS)


def _complain(sentence, code):
    print(f"{sys.argv[0]}: {sentence}", file=sys.stderr, flush=True)
    return code
