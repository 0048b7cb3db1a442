"""What runs beside the main stream of a GPU: copies to host memory and back, and NCCL."""

import os
import uuid

import torch


class Side:
    """A stream beside the current one of a GPU."""

    def __init__(self, device):
        self.device = device
        self._stream = torch.cuda.Stream(device)
        self.handle = self._stream.cuda_stream

    def follow(self):
        """What is put aside from now on comes after all that the current stream was given so far."""
        self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def copy(self, target, source):
        """Puts a copy aside."""
        with torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)

    def mark(self):
        """An event, with query() and synchronize(), that comes after all that was put aside so far."""
        event = torch.cuda.Event(blocking=True)
        event.record(self._stream)
        return event

    def precede(self, event):
        """What the current stream is given from now on comes after an event of this one."""
        torch.cuda.current_stream(self.device).wait_event(event)

    def host_room(self, tensor):
        """Room like that in host memory, to which copies run beside the host."""
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)

    def on_device(self):
        """A context in which this thread's CUDA device is that of the stream."""
        return torch.cuda.device(self.device)


def side(device):
    """A Side of a GPU; None for the CPU."""
    return Side(device) if device.type == "cuda" else None


def gpu_name(device):
    """The one GPU that a device is, the same in every process and different from all others; None for the CPU."""
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    found = getattr(properties, "uuid", None) or _uuid_of(device.index or 0)
    # NCCL tells hosts apart by this variable, where it is set, and asks for a GPU of its own on each host.
    return f"{found} {os.environ.get('NCCL_HOSTID', '')}".strip()


def _uuid_of(index):
    """For a PyTorch that doesn't tell: what the driver says."""
    import ctypes

    driver, device, found = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), (ctypes.c_ubyte * 16)()
    failed = driver.cuDeviceGet(ctypes.byref(device), index) or driver.cuDeviceGetUuid(found, device)
    return None if failed else uuid.UUID(bytes=bytes(found))
