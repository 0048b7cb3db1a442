"""How the learning rate goes through a training."""

WARMUP = 0.03  # part of the training in which it rises


def learning_rate_factor(step, total_steps):
    """Rises at first, then falls in a straight line to a twentieth."""
    rising = min(1.0, (step + 1) / (WARMUP * total_steps))
    return rising * (1.0 - 0.95 * min(1.0, step / total_steps))
