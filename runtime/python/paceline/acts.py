"""What the ranks of a gang do together, and who lacks what where a generation begins."""

import json
from dataclasses import dataclass

from paceline.errors import PacelineError


@dataclass
class Comparison:
    """`root`: the rank whose state counts; `its`: what it said. `lacking`: for each rank whether it has no such state, and gets
    it now. `newcomers_wait`: until all others ask for the next batch."""
    root: int
    its: dict
    lacking: list
    some_join: bool
    newcomers_wait: bool
    everyones: list


class Acts:
    """How many things this rank did to the end together with all ranks: epochs' begins, steps, evaluations. Of those that
    are left where the group fails, some may have done one more than others.

    `result`: what the last one came to, where it was an evaluation or a publication. `joins`: the others train already. `torn`: of the
    state, a part is of another step. `void`: samples of the global batch that the group failed in, until another
    generation stands.
    """

    def __init__(self, joins):
        self.count, self.result = 0, None
        self.joins, self.torn, self.void = joins, False, None

    def done(self, result=None):
        self.count, self.result = self.count + 1, result

    def compare(self, group, away, **more):
        """Every rank tells the others where it stands, and what `more` it is given. `away`: it may do more with the others
        before it asks for the next batch. Raises PacelineError on every rank where none has a whole state."""
        whole = not (self.joins or self.torn)
        own = {"acts": self.count if whole else -1, "void": self.void is not None, "joins": self.joins,
               "away": away, "result": self.result, **more}
        everyones = [json.loads(each) for each in group.all_gather_bytes(json.dumps(own).encode(), "compares where ranks stand")]
        most = max(each["acts"] for each in everyones)
        if most < 0:
            raise PacelineError("Of the gang nobody is left with a whole state: the next start goes on from its last "
                                "checkpoint.")
        root = next(rank for rank, each in enumerate(everyones) if each["acts"] == most)
        some_join = any(each["joins"] for each in everyones)
        newcomers_wait = some_join and any(each["away"] for each in everyones)
        # Who is behind with an evaluation lacks what it came to, and no state.
        lacking = [(each["acts"] < 0 or each["void"] and each["acts"] < most) and not (each["joins"] and newcomers_wait)
                   for each in everyones]
        return Comparison(root, everyones[root], lacking, some_join, newcomers_wait, everyones)

    def catch_up(self, its):
        """What another rank did last counts for this one, too. Returns the samples of the step that this rank takes over."""
        behind = self.count < its["acts"] and not self.joins
        step = self.void if behind else None
        self.count, self.result = its["acts"], its["result"]
        self.joins, self.torn, self.void = False, False, None
        return step
