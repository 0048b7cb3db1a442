"""Jobs for tests that do harm while they run: how each kind is submitted, how it may end, and what its workers note, which are
shell scripts. Shared by tests/e2e and tests/cluster.

    KINDS = kinds(gang=3, most=3, longest=1.0)
    kind = KINDS["tried-again"]
    box.submit(*kind.options, "--env", f"NOTES={folder}", "--env", f"FAILURES={kind.failures}", "--env", "SECONDS_TO_RUN=0.5",
               "--", "sh", "-c", WORKER)
"""

from typing import NamedTuple

# A worker holds its lock for as long as anything of it lives, in a session of its own too: to find it held is to run beside an
# earlier one. Starts are noted by rank, with the generation and the directory of the server or agent; failures by job.
WORKER = """
exec 9>>"$NOTES/$PACELINE_JOB_ID.$PACELINE_RANK.lock"
flock -n 9 || echo "$PACELINE_JOB_ID $PACELINE_RANK $PACELINE_GENERATION" >> "$NOTES/doubled"
echo "$PACELINE_GENERATION $PACELINE_DIR" >> "$NOTES/$PACELINE_JOB_ID.$PACELINE_RANK.starts"
setsid sleep "$SECONDS_TO_RUN" & wait
failures="$NOTES/$PACELINE_JOB_ID.failures"
if [ "$(cat "$failures" 2>/dev/null | wc -l)" -lt "$FAILURES" ]; then echo failed >> "$failures"; exit 3; fi
"""


class Kind(NamedTuple):
    options: list
    failures: int  # so often its script fails; one that is on its way when its worker is lost counts for nobody
    seconds: float  # it runs at most; over 100: until it is ended
    may_end: set


def kinds(gang, most, longest):
    """`gang`: slots of one; `most`: of a job that is resized; `longest`: seconds that a plain job runs at most."""
    return {
        "plain": Kind(["--slots", "1"], 0, longest, {"COMPLETED"}),
        "gang": Kind(["--slots", str(gang)], 0, 0.6 * longest, {"COMPLETED"}),
        "tried-again": Kind(["--retry", "2"], 2, 0.3 * longest, {"COMPLETED"}),
        "fails": Kind(["--retry", "1"], 99, 0.3 * longest, {"FAILED"}),
        "too-long": Kind(["--max-duration", "1s"], 0, 600, {"TIMEOUT"}),
        "cancelled": Kind(["--slots", "2"], 0, 600, {"CANCELLED"}),
        "resized": Kind(["--slots", f"1..{most}", "--elastic", "restart"], 0, longest + 3, {"COMPLETED"}),
    }
