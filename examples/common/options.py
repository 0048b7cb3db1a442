"""The options that all examples have."""

import argparse
import math

from common.errors import UserError


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UserError(f"{message}; --help lists the options")


def parse_options(description, data_help, batch, epochs, learning_rate, held_out, evaluate_every=None):
    """Returns the parsed command line; the keyword arguments are the example's defaults.

    `evaluate_every`: steps; without it the script evaluates, and reports, every so many seconds.
    """
    parser = _Parser(description=description.split("\n\n")[0],
                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--data", metavar="PATH", help=data_help)
    add("--cache", metavar="DIR", help="where drawn data is kept; else $XDG_CACHE_HOME/paceline")
    add("--batch", type=_whole, default=batch, help="samples per step, over all workers")
    add("--epochs", type=_whole if evaluate_every else _positive, default=epochs, help="times each sample is used")
    add("--learning-rate", type=_positive, default=learning_rate, help="highest learning rate")
    add("--seed", type=_seed, default=0, help="chooses first weights and order of samples")
    add("--held-out", type=_whole, default=held_out, metavar="N",
        help="held-out samples per evaluation")
    add("--checkpoint-dir", metavar="DIR", help="where checkpoints are written and looked for")
    timed = {"checkpoint": 5.0}
    if evaluate_every:
        add("--evaluate-every", type=_whole, default=evaluate_every, metavar="STEPS",
            help="evaluate again after so many")
    else:
        timed.update(evaluate=2.0, report=1.0)
    for what, seconds in timed.items():
        add(f"--{what}-every", type=_seconds, default=seconds, metavar="SECONDS",
            help=f"{what} again after so long")
    add("--patience", type=_positive, default=60.0, metavar="SECONDS",
        help="fail when nothing has moved for so long")
    return parser.parse_args()


def _whole(text):
    return _number(text, int, 1, "a whole number from 1")


def _seed(text):
    return _number(text, int, 0, "a whole number from 0")


def _positive(text):
    return _number(text, float, 1e-12, "a number above 0")


def _seconds(text):
    return _number(text, float, 0.0, "a number of seconds from 0")


def _number(text, kind, least, wanted):
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not least <= value < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return value
