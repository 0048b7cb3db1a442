"""What goes wrong in a gang, in a sentence that every rank tells alike."""

import contextlib

CAUSES = ("ok", "bad argument", "timed out", "aborted", "lost", "left", "mismatch", "refused", "system")


class PacelineError(Exception):
    """Something that the script's author or user can mend; the message says how."""


class GroupError(PacelineError):
    """An operation of a group ended on every rank.

    `cause` is one of CAUSES; `rank` is the rank at fault, None where there is none.
    """

    def __init__(self, message, cause="system", rank=None):
        super().__init__(message)
        self.cause = cause
        self.rank = rank


def different_acts(first, rank, other):
    """GroupError where rank 0 does `first`, and `rank` does `other`, which every rank is told alike."""
    return GroupError(f"Rank {rank} {other or 'does something else'} where rank 0 {first or 'does something else'}. Every rank must "
                      "take the same way through the script: decide by what all know, such as what job.evaluate() returns.",
                      "mismatch", rank)


def is_want_of_memory(error):
    """The host's, or a GPU's."""
    words = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("allocate memory" in words or "out of memory" in words))


def raise_together(group, why):
    """Raises PacelineError. Every rank calls it, so that none ends before the others know why."""
    with contextlib.suppress(GroupError):
        group.barrier()
    raise PacelineError(why)
