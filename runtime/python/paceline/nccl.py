"""NCCL through ctypes, by declarations of our own: what is needed to sum tensors of GPUs, and to abandon it."""

import contextlib
import ctypes
import importlib.util
import os
import threading
from pathlib import Path

from paceline.errors import PacelineError

NAME = "libnccl.so.2"
OLDEST = 21000  # the first with bfloat16
OLDEST_NON_BLOCKING = 21400
ABORT_WITHIN_S = 30.0
TYPES = {"float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}
_SUM = 0
_SUCCESS, _IN_PROGRESS = 0, 7
_UNKNOWN = -(1 << 31)


class NcclError(Exception):
    """NCCL can't be used here, or not any longer."""


class _UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


class _Config(ctypes.Structure):
    """As of NCCL 2.14. Later ones go by `size` and `version`, and take their defaults for what came since."""
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                ("blocking", ctypes.c_int), ("unused", ctypes.c_int)]


_comm, _int = ctypes.c_void_p, ctypes.c_int
_FUNCTIONS = {
    "GetVersion": [ctypes.POINTER(_int)],
    "GetUniqueId": [ctypes.POINTER(_UniqueId)],
    "CommInitRank": [ctypes.POINTER(_comm), _int, _UniqueId, _int],
    "CommAbort": [_comm],
    "CommGetAsyncError": [_comm, ctypes.POINTER(_int)],
    "AllReduce": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, _int, _int, _comm, ctypes.c_void_p],
}


class Library:
    """`version`: as NCCL counts, 22809 for 2.28.9. Raises NcclError."""

    def __init__(self, path):
        try:
            loaded = ctypes.CDLL(path)
            for name, arguments in _FUNCTIONS.items():
                function = getattr(loaded, "nccl" + name)
                function.restype, function.argtypes = _int, arguments
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise NcclError(f"NCCL can't be loaded: {error}") from error
        loaded.ncclGetErrorString.restype, loaded.ncclGetErrorString.argtypes = ctypes.c_char_p, [_int]
        self._text_of = loaded.ncclGetErrorString
        number = _int()
        self.check(self.GetVersion(ctypes.byref(number)), "ncclGetVersion")
        self.version = number.value
        if self.version < OLDEST:
            raise NcclError(f"NCCL {version_text(self.version)} is older than {version_text(OLDEST)}")
        self.blocks = self.version < OLDEST_NON_BLOCKING
        if not self.blocks:
            self.CommInitRankConfig = loaded.ncclCommInitRankConfig
            self.CommInitRankConfig.restype = _int
            self.CommInitRankConfig.argtypes = [*_FUNCTIONS["CommInitRank"], ctypes.POINTER(_Config)]

    def check(self, result, what):
        """Raises NcclError where that isn't success."""
        if result != _SUCCESS:
            raise NcclError(f"{what} says: {self._text_of(result).decode(errors='replace')}")

    def unique_id(self):
        """The bytes by which the ranks of a communicator find each other."""
        its = _UniqueId()
        self.check(self.GetUniqueId(ctypes.byref(its)), "ncclGetUniqueId")
        return bytes(its)


_loaded = None


def library():
    """That of $PACELINE_NCCL, else the one that PyTorch has loaded, the system's or that of PyPI; loaded once. Raises
    NcclError."""
    global _loaded
    given = os.environ.get("PACELINE_NCCL", "")
    if given == "off":
        raise NcclError("PACELINE_NCCL=off")
    if os.environ.get("NCCL_COMM_BLOCKING") == "1":
        raise NcclError("NCCL_COMM_BLOCKING=1, by which a rank that dies leaves the others hanging")
    if _loaded is None:
        try:
            _loaded = Library(given or NAME)
        except NcclError:
            if given or not _of_pypi():
                raise
            _loaded = Library(_of_pypi())
    return _loaded


def _of_pypi():
    """Where the package nvidia-nccl has it, or None."""
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except ImportError:
        return None
    paths = [Path(each, "lib", NAME) for each in (found.submodule_search_locations or [])] if found else []
    return next((str(each) for each in paths if each.exists()), None)


def version_text(version):
    """2.28.9 of 22809, 2.8.4 of 2804."""
    hundreds = 10000 if version >= 10000 else 1000
    return f"{version // hundreds}.{version % hundreds // 100}.{version % 100}"


class Communicator:
    """One rank's end of a communicator. It is there once is_ready() has said so on every rank; REQUIRES: from its making
    until then, and in all_reduce(), this thread's CUDA device is the rank's.

    All calls but abort() come from one thread at a time, and none of them waits for other ranks; but in an NCCL that is
    older than 2.14 all_reduce() may, which abort() ends.
    """

    def __init__(self, its_library, unique_id, rank, size, on_device=contextlib.nullcontext):
        self._library = its_library
        self._comm = _comm()
        self._lock = threading.Lock()
        self._aborted = False
        its = _UniqueId.from_buffer_copy(unique_id)
        if self._library.blocks:
            self._formed = _IN_PROGRESS
            threading.Thread(target=self._form, args=(its, rank, size, on_device), daemon=True).start()
            return
        config = _Config(ctypes.sizeof(_Config), 0xcafebeef, OLDEST_NON_BLOCKING, 0, _UNKNOWN)
        result = self._library.CommInitRankConfig(ctypes.byref(self._comm), size, its, rank, ctypes.byref(config))
        self._formed = _SUCCESS if result == _IN_PROGRESS else result

    def _form(self, its, rank, size, on_device):
        comm = _comm()
        with on_device():
            result = self._library.CommInitRank(ctypes.byref(comm), size, its, rank)
            with self._lock:
                self._comm, self._formed = comm, result
                late = self._aborted
            if late and result == _SUCCESS:
                self._library.CommAbort(comm)

    def is_ready(self):
        """Has the last call been carried out so far that the next may follow? Raises NcclError, also where the
        communicator broke."""
        with self._lock:
            if self._aborted:
                raise NcclError("the communicator was aborted")
            if self._formed == _IN_PROGRESS:
                return False
            self._library.check(self._formed, "ncclCommInitRank")
            state = _int()
            self._library.check(self._library.CommGetAsyncError(self._comm, ctypes.byref(state)), "ncclCommGetAsyncError")
            if state.value == _IN_PROGRESS:
                return False
            self._library.check(state.value, "ncclCommGetAsyncError")
            return True

    def all_reduce(self, address, count, type_name, stream):
        """The sum over all ranks, in place, on a stream. REQUIRES: is_ready(). Raises NcclError."""
        with contextlib.nullcontext() if self._library.blocks else self._lock:
            if self._aborted:
                raise NcclError("the communicator was aborted")
            result = self._library.AllReduce(address, address, count, TYPES[type_name], _SUM, self._comm, stream)
        if result != _IN_PROGRESS:
            self._library.check(result, "ncclAllReduce")

    def abort(self):
        """Ends what runs, on this rank, and the communicator. From any thread. Raises PacelineError where NCCL doesn't
        come to an end: then this process has lost its GPU."""
        with self._lock:
            if self._aborted:
                return
            self._aborted = True
            comm, self._comm = self._comm, None
        if not comm:
            return
        aborting = threading.Thread(target=self._library.CommAbort, args=(comm,), daemon=True)
        aborting.start()
        aborting.join(ABORT_WITHIN_S)
        if aborting.is_alive():
            raise PacelineError(f"NCCL did not let go of the GPU within {ABORT_WITHIN_S:g} s: start the script again.")
