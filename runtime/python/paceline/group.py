"""The ranks of one generation, and what they exchange on host memory."""

import ctypes
import os

from paceline.errors import different_acts
from paceline.library import Error, Options, library, raised

SUM, MEAN, MIN, MAX = range(4)
TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3, "int8": 4, "uint8": 5, "int32": 6,
         "int64": 7}

_DOES_BYTES = 56


class _Told(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("does", ctypes.c_char * _DOES_BYTES)]


class Group:
    """One rank's end of a group; every rank makes the same calls in the same order.

    Tensors are PyTorch's on the CPU or NumPy's, contiguous, of a type in TYPES; they are changed in
    place. Calls raise GroupError, on every rank alike; afterwards the group is of no more use. Where
    `address` is None, all ranks run on one host.
    """

    def __init__(self, rank, size, secret, generation=0, address=None, timeout_s=0.0):
        self.rank, self.size, self.generation = rank, size, generation
        self._library, self._process = library(), os.getpid()
        options = Options(rank, size, generation, secret, len(secret),
                          address.encode() if address else None, int(timeout_s * 1000))
        error = Error()
        self._group = self._library.group_open(ctypes.byref(options), ctypes.byref(error))
        if not self._group:
            raise raised(error)

    @property
    def endpoint(self):
        """A line of text by which the others reach this rank."""
        return self._library.group_endpoint(self._group).decode()

    def connect(self, endpoints):
        """Returns once all ranks are connected; `endpoints` are theirs, in the order of ranks."""
        if len(endpoints) != self.size:
            raise ValueError(f"connect() takes {self.size} endpoints, not {len(endpoints)}")
        texts = (ctypes.c_char_p * self.size)(*[each.encode() for each in endpoints])
        self._call("group_connect", texts)

    def meet(self, name=None, address=None, port=0):
        """In place of connect(), learns the others' endpoints where all meet; rank 0 listens there.

        `name`: of a unix socket without a file, where all ranks run on one host; else they meet at `address`, in
        numbers, and `port`.
        """
        self._call("group_meet", name and name.encode(), address and address.encode(), port)

    def all_reduce(self, tensor, op=SUM):
        self._call("all_reduce", _address(tensor), _count(tensor), _type(tensor), op)

    def all_reduce_many(self, tensors, op=SUM):
        """Of tensors of one type: small ones travel together."""
        if not tensors:
            return
        data = (ctypes.c_void_p * len(tensors))(*_addresses(tensors))
        counts = (ctypes.c_size_t * len(tensors))(*_counts(tensors))
        self._call("all_reduce_many", data, counts, len(tensors), _type(tensors[0]), op)

    def start_all_reduce(self, tensor, op=SUM):
        """On a thread of the group's own. Returns a function that waits for it, to be called once."""
        error = Error()
        ticket = self._library.all_reduce_start(self._group, _address(tensor), _count(tensor),
                                                _type(tensor), op, ctypes.byref(error))
        if not ticket:
            raise raised(error)

        def wait(_keep=tensor):
            self._call("wait", ticket)

        return wait

    def all_gather(self, mine, all_of_them):
        """`all_of_them` has room for a tensor like `mine` of each rank, in the order of ranks."""
        self._call("all_gather", _address(mine), _bytes(mine), _address(all_of_them))

    def broadcast(self, tensor, root=0):
        self._call("broadcast", _address(tensor), _bytes(tensor), root)

    def broadcast_bytes(self, data, root=0):
        """Returns `root`'s bytes, of any length, on every rank; None where it gives None."""
        length = ctypes.c_int64((-1 if data is None else len(data)) if self.rank == root else 0)
        self._call("broadcast", ctypes.addressof(length), ctypes.sizeof(length), root)
        if length.value <= 0:
            return None if length.value else b""
        if self.rank == root:  # from where they lie
            self._call("broadcast", ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), length.value, root)
            return data
        room = (ctypes.c_char * length.value)()
        self._call("broadcast", ctypes.addressof(room), length.value, root)
        return bytes(room)

    def all_gather_bytes(self, data, does=""):
        """Returns what each rank gave, in the order of ranks.

        `does`: what this rank does by it, as "begins an epoch"; 55 bytes of it count. GroupError tells of ranks that do
        different things.
        """
        told = (_Told * self.size)()
        own = _Told(len(data), does.encode()[:_DOES_BYTES - 1])
        self._call("all_gather", ctypes.addressof(own), ctypes.sizeof(own), ctypes.addressof(told))
        other = next((rank for rank, each in enumerate(told) if each.does != told[0].does), None)
        if other is not None:
            raise different_acts(told[0].does.decode(errors="replace"), other, told[other].does.decode(errors="replace"))
        lengths = [each.length for each in told]
        longest = max(lengths)
        mine = ctypes.create_string_buffer(bytes(data), longest + 1)
        all_of_them = (ctypes.c_char * (longest * self.size))()
        self._call("all_gather", ctypes.addressof(mine), longest, ctypes.addressof(all_of_them))
        whole = bytes(all_of_them)
        return [whole[i * longest:i * longest + length] for i, length in enumerate(lengths)]

    def send(self, tensor, to):
        """To a rank that receives a tensor of the same size."""
        self._call("send", _address(tensor), _bytes(tensor), to)

    def receive(self, tensor, source):
        self._call("receive", _address(tensor), _bytes(tensor), source)

    def barrier(self):
        self._call("barrier")

    def abort(self, reason=""):
        """Ends what runs, here and on every rank. From any thread."""
        if self._group and self._process == os.getpid():
            self._library.group_abort(self._group, reason.encode())

    def close(self):
        if self._group and self._process == os.getpid():  # in a fork its connections are closed already
            self._library.group_close(self._group)
        self._group = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _call(self, name, *arguments):
        if not self._group:
            raise ValueError("the group is closed")
        error = Error()
        if getattr(self._library, name)(self._group, *arguments, ctypes.byref(error)):
            raise raised(error)


# ---- tensors of PyTorch and of NumPy ----

def _address(tensor):
    if hasattr(tensor, "data_ptr"):
        if not (tensor.is_cpu and tensor.is_contiguous()):
            raise ValueError("a tensor must be contiguous and on the CPU")
        return tensor.data_ptr()
    if not tensor.flags.c_contiguous or not tensor.flags.writeable:
        raise ValueError("an array must be contiguous and writable")
    return tensor.ctypes.data


def _addresses(tensors):
    """Of many of one kind: Python takes longer to ask them one by one than to reduce them."""
    if hasattr(tensors[0], "data_ptr") and all(each.is_cpu and each.is_contiguous() for each in tensors):
        return [each.data_ptr() for each in tensors]
    return map(_address, tensors)


def _counts(tensors):
    return [each.numel() for each in tensors] if hasattr(tensors[0], "numel") else map(_count, tensors)


def _count(tensor):
    return tensor.numel() if hasattr(tensor, "numel") else tensor.size


def _bytes(tensor):
    return _count(tensor) * (tensor.element_size() if hasattr(tensor, "element_size") else tensor.itemsize)


def type_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def _type(tensor):
    name = type_name(tensor)
    if name not in TYPES:
        raise ValueError(f"tensors of type {name} can't be reduced; there are {', '.join(TYPES)}")
    return TYPES[name]
