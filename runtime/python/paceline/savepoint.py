"""What computing a global batch changes, as it was before: for a batch that the group fails in."""

from paceline import chance


class Savepoint:
    """Buffers and random states. Parameters and what is carried change only where all gradients came in."""

    def __init__(self, models, device):
        # With their places: a module may assign another tensor.
        self._buffers = [(module._buffers, name, buffer, None if buffer is None else buffer.detach().clone())
                         for model in models for module in model.modules() for name, buffer in module._buffers.items()]
        self._device, self._chance = device, chance.states(device)

    def restore(self):
        for place, name, buffer, before in self._buffers:
            if buffer is not None:
                buffer.copy_(before)
            place[name] = buffer
        chance.restore(self._chance, self._device)
