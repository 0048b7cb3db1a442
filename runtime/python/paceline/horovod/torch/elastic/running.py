"""elastic.run: a training between its commits."""

import functools
import sys

from paceline.errors import GroupError
from paceline.horovod.torch.elastic.commits import Commits
from paceline.horovod.torch.elastic.state import TorchState
from paceline.horovod.torch.world import world


def run(func):
    """Decorates `func(state, ...)`, which trains from where the state stands.

    It goes on from the newest commit of an earlier start. At a notice commit() and check_host_updates() leave by
    SystemExit(75), where a rank is lost the others leave with a sentence; each time the next start goes on.
    """
    @functools.wraps(func)
    def trained(state, *arguments, **options):
        if not isinstance(state, TorchState):
            raise ValueError(f"elastic.run needs a TorchState, not a {type(state).__name__}, as the first argument")
        commits = Commits(world())
        try:
            commits.begin(state)
            state.attach(commits)
            result = func(state, *arguments, **options)
        except GroupError as error:
            sys.exit(f"{error} The next start goes on from the last commit.")
        finally:
            state.attach(None)
        commits.end(state)
        return result

    return trained
