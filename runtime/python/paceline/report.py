"""What a worker tells Paceline and anybody who reads its log: JSON lines on standard output."""

import json
import math


def report(**values):
    """Prints {"paceline": {...}}; numbers are cut to six digits, NaN and infinity left out."""
    kept = {name: _short(value) for name, value in values.items() if _is_sound(value)}
    print(json.dumps({"paceline": kept}), flush=True)


def _short(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _is_sound(value):
    return not isinstance(value, float) or math.isfinite(value)
