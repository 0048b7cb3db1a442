"""How gradients and tensors travel. A script may have a class of its own with these two functions."""

import torch


class _None:
    @staticmethod
    def compress(tensor):
        """Returns what travels, and what decompress() needs to know."""
        return tensor, None

    @staticmethod
    def decompress(tensor, context):
        return tensor


class _Float16:
    """Numbers of floating point travel and are reduced as float16: half the bytes of float32."""

    @staticmethod
    def compress(tensor):
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor, dtype):
        return tensor.to(dtype)


class Compression:
    none = _None
    fp16 = _Float16


def named(compression):
    """For the comparison between ranks. Raises ValueError."""
    if not hasattr(compression, "compress") or not hasattr(compression, "decompress"):
        raise ValueError(f"compression={compression!r} has no compress() and decompress(): use Compression.none or "
                         "Compression.fp16")
    return getattr(compression, "__name__", type(compression).__name__)
