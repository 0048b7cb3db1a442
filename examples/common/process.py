"""One thread per process, and freed memory is kept. Import this before torch."""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def _keep_freed_memory():
    # Each step takes the same large blocks again; giving them back costs a fifth of the time.
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # not glibc
    mallopt(M_MMAP_THRESHOLD, 1 << 30)
    mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


os.environ.setdefault("OMP_NUM_THREADS", "1")
_keep_freed_memory()
