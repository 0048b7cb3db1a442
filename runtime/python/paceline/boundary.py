"""Between two steps of a training whose loop is a framework's: what Paceline asks of all ranks, and where their time goes."""

import os
from types import SimpleNamespace

import torch
from torch import distributed

from paceline.attendant import Attendant
from paceline.timeline import OFF, Timeline
from paceline.worker_socket import own_socket


class Boundary:
    """Make it before the framework starts the training: from then on SIGTERM ends the process with exit code 75,
    and between begin() and end() it is what reached() tells. REQUIRES: the main thread.

    `timeline`: the training's. From begin() on it is handed on, by every rank."""

    def __init__(self):
        socket = own_socket()
        self.timeline = Timeline(socket) if socket else OFF
        self._attendant = Attendant(socket)
        self._shared = None  # gloo's threads must not be the last to hold it: to free it they need Python, which may be ending

    def begin(self):
        """A handler of SIGTERM that the framework has set acts no more. Every rank of torch.distributed calls it."""
        peers = _Peers()
        self.timeline.stands(peers, SimpleNamespace(rank=peers.rank, size=peers.size, generation=_generation()))
        self._attendant.take_signal()
        self._attendant.training = True
        self._attendant.ask()

    def reached(self):
        """(notice, should_stop): make room, or the model is good enough. Every rank of torch.distributed calls this
        after the same step, and has the same answer."""
        own = (self._attendant.notice is not None, self._attendant.should_stop)
        if not _has_peers():
            return own
        with self.timeline.span("others"):
            self._shared = torch.tensor(own, dtype=torch.int32, device=_device())
            distributed.all_reduce(self._shared, distributed.ReduceOp.MAX)
            return tuple(bool(each) for each in self._shared.tolist())

    def end(self):
        self._attendant.training = False


class _Peers:
    """The ranks of torch.distributed, as a timeline's clocks ask for them."""

    def __init__(self):
        self.rank, self.size = (distributed.get_rank(), distributed.get_world_size()) if _has_peers() else (0, 1)

    def all_gather_bytes(self, own, _does=""):
        everyones = [own] * self.size
        if self.size > 1:
            distributed.all_gather_object(everyones, own)
        return everyones

    def send(self, word, rank):
        distributed.send(word.to(_device()), rank)

    def receive(self, word, rank):
        there = word.to(_device())
        distributed.recv(there, rank)
        word.copy_(there)


def _has_peers():
    return distributed.is_available() and distributed.is_initialized()


def _device():
    return "cuda" if distributed.get_backend() == "nccl" else "cpu"


def _generation():
    return int(os.environ.get("PACELINE_GENERATION", "1"))
