"""This process among its peers, as torchrun's environment describes it."""

import datetime
import os
import socket
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from common.errors import UserError
from common.launch import attendant

CONNECT_PAUSE_S = 0.02
CONNECT_TIMEOUT = datetime.timedelta(seconds=10)
NO_TIMEOUT = datetime.timedelta(days=30)


class Worker:
    """Worker `rank` of `size`. Alone (size 1) it needs no process group and makes none.

    `patience_s`: a worker that gets no further for so long fails. Gloo's own time-out is no use for
    that: it would also end a job that was frozen and thawed, so it is set out of reach.
    """

    def __init__(self, patience_s):
        torch.set_num_threads(1)
        self.rank = _environment_int("RANK", 0)
        self.size = _environment_int("WORLD_SIZE", 1)
        if not 0 <= self.rank < self.size:
            raise UserError(f"RANK={self.rank} does not fit WORLD_SIZE={self.size}; "
                            "ranks go from 0 to WORLD_SIZE - 1")
        self.device = self._choose_device()
        self.exchange = None
        attendant.watch(patience_s)
        if self.size > 1:
            self._join()

    def parallel(self, net):
        """Returns `net` such that its backward averages gradients over all workers.

        The same message carries `exchange`, which each worker sets before the backward and which
        afterwards holds the sum over all workers: messages cost time by their number.
        """
        if self.size == 1:
            return net
        devices = [self.device] if self.device.type == "cuda" else None
        model = DistributedDataParallel(net, device_ids=devices, broadcast_buffers=False,
                                        gradient_as_bucket_view=True)
        model.register_comm_hook(None, lambda _, bucket: self._send(bucket))
        return model

    def sum(self, tensor):
        """Replaces `tensor` by its sum over all workers."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def from_first(self, value):
        """Returns worker 0's `value` (anything that pickles) on every worker."""
        values = [value]
        if self.size > 1:
            dist.broadcast_object_list(values, device=self.device)
        return values[0]

    def meet(self):
        """Returns when every worker has called it."""
        self.sum(torch.zeros(1, device=self.device))

    def _send(self, bucket):
        gradients = bucket.buffer()
        is_last = bucket.is_last()
        message = torch.cat([gradients, self.exchange.to(gradients)]) if is_last else gradients

        def receive(future):
            total = future.value()[0]
            if is_last:
                self.exchange = total[len(gradients):]
            return total[:len(gradients)].div_(self.size)

        return dist.all_reduce(message, async_op=True).get_future().then(receive)

    def _choose_device(self):
        if not torch.cuda.is_available():
            return torch.device("cpu")
        device = torch.device("cuda", _environment_int("LOCAL_RANK", 0) % torch.cuda.device_count())
        torch.cuda.set_device(device)
        return device

    def _join(self):
        address, port = os.environ.get("MASTER_ADDR"), _environment_int("MASTER_PORT", 0)
        if not address or not port:
            raise UserError(f"WORLD_SIZE={self.size} needs MASTER_ADDR and MASTER_PORT; start this "
                            "under Paceline or torchrun, or unset WORLD_SIZE")
        if address in ("127.0.0.1", "localhost"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        backend = "nccl" if self.device.type == "cuda" and dist.is_nccl_available() else "gloo"
        dist.init_process_group(backend, store=self._meet_at(address, port), rank=self.rank,
                                world_size=self.size, timeout=NO_TIMEOUT)

    def _meet_at(self, address, port):
        # What init_process_group would do, but that waits for the others with Python locked: no
        # notice would get through to the attendant.
        launched = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        is_host = self.rank == 0 and not launched
        if not is_host:
            _wait_until_open(address, port)
        store = dist.TCPStore(address, port, self.size, is_host, CONNECT_TIMEOUT,
                              wait_for_workers=False)
        store.set_timeout(NO_TIMEOUT)
        if not launched:
            return store
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return dist.PrefixStore(f"/worker/attempt_{attempt}", store)


def _wait_until_open(address, port):
    # torch itself tries only once a second.
    while not _is_open(address, port):
        time.sleep(CONNECT_PAUSE_S)


def _is_open(address, port):
    try:
        with socket.create_connection((address, port), timeout=1) as connection:
            # On the own machine, a port nobody listens on can get connected to itself.
            return connection.getsockname() != connection.getpeername()
    except OSError:
        return False


def _environment_int(name, default):
    text = os.environ.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise UserError(f"{name}={text!r} is no whole number; start this under Paceline or "
                        f"torchrun, or unset {name}") from None
