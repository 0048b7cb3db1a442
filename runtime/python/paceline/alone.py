"""The group of a single rank, for which nothing has to be loaded."""


class Alone:
    rank, size = 0, 1

    def __init__(self, generation=0):
        self.generation = generation

    def all_reduce(self, tensor, op=0):
        pass

    def broadcast(self, tensor, root=0):
        pass

    def broadcast_bytes(self, data, root=0):
        return data

    def all_gather_bytes(self, data, _does=""):
        return [data]

    def barrier(self):
        pass

    def abort(self, reason=""):
        pass

    def close(self):
        pass
