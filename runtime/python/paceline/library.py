"""libpaceline through ctypes: paceline/runtime.h says what each function does."""

import ctypes
import os
from pathlib import Path

from paceline.errors import CAUSES, GroupError, PacelineError

NAME = "libpaceline.so.0"


class Error(ctypes.Structure):
    _fields_ = [("cause", ctypes.c_int), ("rank", ctypes.c_int), ("message", ctypes.c_char * 480)]


class Options(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int), ("size", ctypes.c_int), ("generation", ctypes.c_uint64),
                ("secret", ctypes.c_char_p), ("secret_size", ctypes.c_size_t),
                ("address", ctypes.c_char_p), ("timeout_ms", ctypes.c_uint64)]


_group, _data, _size = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
_error, _int = ctypes.POINTER(Error), ctypes.c_int
_FUNCTIONS = {
    "group_open": (ctypes.c_void_p, [ctypes.POINTER(Options), _error]),
    "group_endpoint": (ctypes.c_char_p, [_group]),
    "group_connect": (_int, [_group, ctypes.POINTER(ctypes.c_char_p), _error]),
    "group_meet": (_int, [_group, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint16, _error]),
    "group_abort": (None, [_group, ctypes.c_char_p]),
    "group_close": (None, [_group]),
    "all_reduce": (_int, [_group, _data, _size, _int, _int, _error]),
    "all_reduce_many": (_int, [_group, ctypes.POINTER(_data), ctypes.POINTER(_size), _size, _int, _int, _error]),
    "broadcast": (_int, [_group, _data, _size, _int, _error]),
    "all_gather": (_int, [_group, _data, _size, _data, _error]),
    "reduce_scatter": (_int, [_group, _data, _data, _size, _int, _int, _error]),
    "barrier": (_int, [_group, _error]),
    "send": (_int, [_group, _data, _size, _int, _error]),
    "receive": (_int, [_group, _data, _size, _int, _error]),
    "all_reduce_start": (ctypes.c_uint64, [_group, _data, _size, _int, _int, _error]),
    "wait": (_int, [_group, ctypes.c_uint64, _error]),
}


class Library:
    """The functions of libpaceline by their names without "paceline_"."""

    def __init__(self, path):
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise PacelineError(f"libpaceline can't be loaded: {error}; set PACELINE_LIBRARY to where "
                                f"{NAME} lies") from error
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "paceline_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)


_loaded = None


def library():
    """libpaceline, loaded once. Raises PacelineError."""
    global _loaded
    if _loaded is None:
        _loaded = Library(os.environ.get("PACELINE_LIBRARY") or _beside())
    return _loaded


def _beside():
    # It lies beside the package; the loader knows the system's folders.
    beside = Path(__file__).absolute().parents[1] / NAME
    return beside if beside.exists() else NAME


def raised(error):
    """The exception for what a function of libpaceline told."""
    return GroupError(error.message.decode(errors="replace"), CAUSES[error.cause],
                      None if error.rank < 0 else error.rank)
