"""Gradients travel in buckets, while backward runs, in an order that is the same on every rank."""

BUCKET_BYTES = 4 << 20
GPU_BUCKET_BYTES = 16 << 20


class Bucket:
    """Parameters of one type and device whose gradients travel together. What derives from it sends and receives them:

    send(by): starts the reduction by a group or a carrier, and puts into `wait` what waits for it.
    receive(): waits, and changes the gradients.
    """

    def __init__(self, parameters):
        self.parameters = parameters
        self.ready = set()
        self.wait = None

    def begin(self):
        self.ready.clear()
        self.wait = None


class Buckets:
    """All parameters, in buckets of a kind: `kind(parameters)` makes one."""

    def __init__(self, parameters, kind):
        self._buckets = [kind(each) for each in _split(parameters)]
        self._bucket_of = {id(p): bucket for bucket in self._buckets for p in bucket.parameters}

    def __iter__(self):
        return iter(self._buckets)

    @property
    def last(self):
        return self._buckets[-1]

    def begin(self):
        """None has been sent."""
        for bucket in self._buckets:
            bucket.begin()

    def complete(self, parameter):
        """Its gradient is what is to be sent."""
        self._bucket_of[id(parameter)].ready.add(id(parameter))

    def is_sent(self, parameter):
        return self._bucket_of[id(parameter)].wait is not None

    def launch(self, by, of_all=False):
        """Sends those that are complete, up to the first that isn't; `of_all`: complete or not."""
        for bucket in self._buckets:
            if bucket.wait:
                continue
            if not of_all and len(bucket.ready) < len(bucket.parameters):
                return
            bucket.send(by)

    def receive(self):
        """Returns once all gradients are what the ranks made of them. REQUIRES: all were sent."""
        for bucket in self._buckets:
            bucket.receive()


def when_accumulated(parameter, function):
    """Calls `function(parameter)` whenever backward() has added to its gradient, as long as what is returned lives."""
    accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda *_: function(parameter))
    return accumulator


def _split(parameters):
    """The last first, as backward() comes to them; each of one type and device."""
    found, open_ones = [], {}
    for parameter in reversed(parameters):
        kind = parameter.dtype, parameter.device
        size, listed = open_ones.get(kind, (0, None))
        bytes_of_it = parameter.numel() * parameter.element_size()
        limit = BUCKET_BYTES if parameter.device.type == "cpu" else GPU_BUCKET_BYTES
        if listed is None or size + bytes_of_it > limit:
            size, listed = 0, []
            found.append(listed)
        listed.append(parameter)
        open_ones[kind] = (size + bytes_of_it, listed)
    return found
