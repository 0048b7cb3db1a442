"""This process among its ranks: what init() makes and shutdown() ends."""

import atexit
import os

from paceline.attendant import Attendant
from paceline.errors import PacelineError
from paceline.horovod.torch.turns import Turns
from paceline.ranks import Place, number
from paceline.worker_socket import own_socket

PATIENCE_S = 600.0


class World:
    """`group`, and the `turns` that its ranks take."""

    def __init__(self, group):
        self.group, self.turns = group, Turns(group)
        self.rank, self.size = group.rank, group.size
        self._process = os.getpid()
        self._attendant = None

    @property
    def is_own(self):
        return self._process == os.getpid()

    def attendant(self):
        """Minds the stop signal from the first call on. In the main thread."""
        if self._attendant is None:
            self._attendant = Attendant(own_socket())
        return self._attendant


_world = None


def init(comm=None, process_sets=None):
    """Returns once all ranks are there. A second call changes nothing.

    A rank waits 600 s for others that don't go on, here and later, or $HOROVOD_STALL_SHUTDOWN_TIME_SECONDS. Raises
    PacelineError.
    """
    global _world
    if comm is not None or process_sets is not None:
        raise PacelineError("init() takes all ranks of the job as one set: leave comm= and process_sets= out")
    if _world is None:
        patience_s = number(os.environ, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", 0)
        _world = World(Place(os.environ).group(float(patience_s if patience_s > 0 else PATIENCE_S)))
        atexit.register(shutdown)


def shutdown():
    """Leaves the others. What still waits for this rank ends with an error there."""
    global _world
    if _world is not None:
        _world.group.close()
    _world = None
    atexit.unregister(shutdown)


def is_initialized():
    return _world is not None


def _known():
    if _world is None:
        raise ValueError("hvd.init() has not been called in this process: call it first")
    return _world


def world():
    """For what ranks do together. Raises ValueError before init() and in a fork."""
    if not _known().is_own:
        raise ValueError("The ranks' connections belong to the process that called hvd.init(), and this is a fork of it: "
                         "make the call there, not in a DataLoader's worker")
    return _world


def rank():
    return _known().rank


def size():
    return _known().size


def local_rank():
    """Among the ranks on this host."""
    return _known() and number(os.environ, "LOCAL_RANK", 0)


def local_size():
    return number(os.environ, "LOCAL_WORLD_SIZE", _known().size)


def cross_rank():
    """Of this host, among the hosts."""
    return number(os.environ, "GROUP_RANK", _known().rank // local_size())


def cross_size():
    return number(os.environ, "GROUP_WORLD_SIZE", -(-_known().size // local_size()))


def is_homogeneous():
    """Every host has as many ranks."""
    return local_size() * cross_size() == size()


def join(device=-1):
    """This rank is out of data: to what the others reduce it adds zeros, until all have joined. An average still
    divides by size(). Returns the rank that joined last."""
    return world().turns.join()


class _AllRanks:
    """Of all sets of ranks there is this one."""
    process_set_id = 0

    def rank(self):
        return rank()

    def size(self):
        return size()

    def included(self):
        return True

    @property
    def ranks(self):
        return list(range(size()))


global_process_set = _AllRanks()


def check_all_ranks(process_set):
    """Raises ValueError for a set of some ranks."""
    if process_set is not global_process_set:
        raise ValueError("all ranks are one set here: leave process_set= out, and for parts of them use "
                         "torch.distributed.new_group()")


def _no():
    return False


# Paceline's own collectives carry everything.
mpi_built = mpi_enabled = mpi_threads_supported = gloo_built = gloo_enabled = _no
nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = _no
