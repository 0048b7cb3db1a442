"""IDX, the file format of MNIST: a big-endian header, then unsigned bytes.

Header: two zero bytes, the type code (0x08 = unsigned byte), the number of dimensions, then one
32-bit size per dimension. Source: http://yann.lecun.com/exdb/mnist/.
"""

import gzip
import math
import os
import struct
import zlib

import numpy as np

from common.errors import UserError

UNSIGNED_BYTE = 0x08
MAX_DIMENSIONS = 4
MAX_BYTES = 4 << 30


def read_idx(path, dimensions):
    """Returns the uint8 array in `path` (plain or .gz), which must have `dimensions` dimensions.

    A plain file is memory-mapped: workers on one machine share its pages, and who writes to the array has a
    copy.
    Raises UserError when the file is no complete IDX file of that kind.
    """
    path = os.fspath(path)
    try:
        if path.endswith(".gz"):
            with gzip.open(path) as file:
                return _read_stream(file, path, dimensions)
        with open(path, "rb") as file:
            shape, offset = _read_header(file, path, dimensions)
            _check_size(path, os.fstat(file.fileno()).st_size - offset, math.prod(shape))
        return np.memmap(path, np.uint8, "c", offset, shape)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"can't read {path}: {reason}; fetch or copy the file again") from error


def write_idx(path, array):
    """Writes the uint8 `array` to `path` as a plain IDX file and makes it durable."""
    header = struct.pack(f">HBB{array.ndim}I", 0, UNSIGNED_BYTE, array.ndim, *array.shape)
    with open(path, "wb") as file:
        file.write(header)
        file.write(np.ascontiguousarray(array, np.uint8).data)
        file.flush()
        os.fsync(file.fileno())


def _read_header(file, path, dimensions):
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or not 1 <= magic[3] <= MAX_DIMENSIONS:
        raise UserError(f"{path} is not an IDX file; give --data a folder with MNIST-style IDX "
                        "files")
    if magic[2] != UNSIGNED_BYTE:
        raise UserError(f"{path} holds values of type 0x{magic[2]:02x}; only unsigned bytes (0x08) "
                        "are read")
    if magic[3] != dimensions:
        raise UserError(f"{path} has {magic[3]} dimensions where {dimensions} are needed; "
                        "are images and labels mixed up?")
    sizes = file.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise UserError(f"{path} ends inside its header; fetch or copy the file again")
    shape = struct.unpack(f">{dimensions}I", sizes)
    if not 0 < math.prod(shape) <= MAX_BYTES:
        raise UserError(f"{path} claims the shape {shape}; sizes from 1 byte to 4 GiB are read")
    return shape, 4 + 4 * dimensions


def _read_stream(file, path, dimensions):
    shape, _ = _read_header(file, path, dimensions)
    expected = math.prod(shape)
    body = file.read(expected + 1)
    _check_size(path, len(body), expected)
    return np.frombuffer(bytearray(body), np.uint8).reshape(shape)


def _check_size(path, found, expected):
    if found != expected:
        side = "short" if found < expected else "long"
        raise UserError(f"{path} is too {side}: its header announces {expected} bytes of data; "
                        "fetch or copy the file again")
