"""Between two steps of a training whose loop is a framework's: what Paceline asks of all ranks."""

import torch
from torch import distributed

from paceline.attendant import Attendant
from paceline.worker_socket import own_socket


class Boundary:
    """Make it before the framework starts the training: from then on SIGTERM ends the process with exit code 75,
    and between begin() and end() it is what reached() tells. REQUIRES: the main thread."""

    def __init__(self):
        self._attendant = Attendant(own_socket())
        self._shared = None  # gloo's threads must not be the last to hold it: to free it they need Python, which may be ending

    def begin(self):
        """A handler of SIGTERM that the framework has set acts no more."""
        self._attendant.take_signal()
        self._attendant.training = True
        self._attendant.ask()

    def reached(self):
        """(notice, should_stop): make room, or the model is good enough. Every rank of torch.distributed calls this
        after the same step, and has the same answer."""
        own = (self._attendant.notice is not None, self._attendant.should_stop)
        if not (distributed.is_available() and distributed.is_initialized()):
            return own
        device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
        self._shared = torch.tensor(own, dtype=torch.int32, device=device)
        distributed.all_reduce(self._shared, distributed.ReduceOp.MAX)
        return tuple(bool(each) for each in self._shared.tolist())

    def end(self):
        self._attendant.training = False
