"""A global batch that grows with the number of ranks, and learning rates that follow it by a declared rule."""

import math

RULES = ("linear", "sqrt", "noise")
_DECAY = 0.99  # of what earlier steps count in the mean, from one step to the next


class NoiseScale:
    """The gradient noise scale: how large a batch may be before a larger one hardly says more.

    The simple noise scale tr(S) / |G|^2, with G the true gradient and S the covariance of one sample's, from
    gradients over batches of two sizes (McCandlish, Kaplan, Amodei 2018, appendix A).
    """

    def __init__(self):
        self._spread = self._square = self._weight = 0.0

    def update(self, small_batch, small_square, large_batch, large_square):
        """|g|^2 of a gradient over so many samples, and of one over more. REQUIRES: small_batch < large_batch."""
        spread = (small_square - large_square) / (1 / small_batch - 1 / large_batch)
        square = (large_batch * large_square - small_batch * small_square) / (large_batch - small_batch)
        self._spread = _DECAY * self._spread + (1 - _DECAY) * spread
        self._square = _DECAY * self._square + (1 - _DECAY) * square
        self._weight = _DECAY * self._weight + (1 - _DECAY)

    @property
    def value(self):
        """In samples; None until it is known: a few steps are mostly chance."""
        if self._weight < 1 - _DECAY ** 10 or self._square <= 0:
            return None
        return max(self._spread, 0.0) / self._square

    def state(self):
        return [self._spread, self._square, self._weight]

    def restore(self, state):
        self._spread, self._square, self._weight = state


def rate_factor(rule, batch, times, noise):
    """What learning rates that are right for a global batch of `batch` are multiplied by for `times` as many.

    linear: by as much (Goyal et al. 2017). sqrt: by its root (for Adam and its like). noise: what the noise scale
    allows, between 1 and linear; sqrt until it is known.
    """
    if rule == "linear":
        return float(times)
    if rule == "sqrt" or noise is None:
        return math.sqrt(times)
    return (1 + noise / batch) / (1 + noise / (batch * times))
