"""Starts and ends an example that knows nothing of Paceline. Import this before torch.

Importing it starts the attendant, which takes SIGTERM: before the
training has begun a notice ends the process at once with code 75, later it is a flag that the loop
reads.

Exit codes: 0 trained, or told that it is enough; 1 failed, a lost peer included; 2 bad input;
75 start me again.
"""

import os
import sys
import traceback

import common.process  # noqa: F401
from common.attendant import EXIT_FAILED, EXIT_REQUEUE, Attendant
from common.errors import UserError

EXIT_USAGE = 2
PEER_WORDS = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Timed out")

attendant = Attendant()


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
