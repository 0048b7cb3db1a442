"""What computing a global batch changes, as it was before: for a batch that the group fails in."""

from paceline import chance


class Savepoint:
    """Buffers and random states. Parameters and what is carried change only where all gradients came in."""

    def __init__(self, models, device):
        self._buffers = [(each, each.detach().clone()) for model in models for each in model.buffers()]
        self._device, self._chance = device, chance.states(device)

    def restore(self):
        for buffer, before in self._buffers:
            buffer.copy_(before)
        chance.restore(self._chance, self._device)
