"""What an asynchronous call returns."""


class Handle:
    """`finish()` waits for the operation and returns its result; it is called once."""

    def __init__(self, finish):
        self._finish, self._result = finish, None

    def wait(self):
        if self._finish:
            finish, self._finish = self._finish, None
            self._result = finish()
        return self._result


def poll(handle):
    """True: it is done. This waits for it, so there is no other answer."""
    synchronize(handle)
    return True


def synchronize(handle):
    """Returns the result of an asynchronous call, once it is done."""
    if not isinstance(handle, Handle):
        raise ValueError(f"{handle!r} is no handle: pass what an asynchronous call returned")
    return handle.wait()
