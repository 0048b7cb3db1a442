"""What a script carries along under names, beside its models and optimizers."""

import copy

from paceline import state
from paceline.errors import PacelineError


class Value:
    """A handle on a plain value: `value` is to be read and set."""

    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class NamedStates:
    """Things with state_dict() and load_state_dict(), by name, and how they were at the last commit()."""

    def __init__(self):
        self._things, self._committed = {}, {}

    def add(self, name, thing):
        """Returns `thing`, or the handle on it if it is a plain value. Raises PacelineError."""
        if name in self._things:
            raise PacelineError(f"job.carry() was given two things named '{name}': choose another name.")
        if not (hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")):
            thing = Value(thing)
        try:
            state.packed(thing.state_dict())
        except Exception as error:  # whatever pickling comes up with
            raise PacelineError(f"'{name}' can't be carried, since it can't be pickled: {error}") from error
        self._things[name] = thing
        self._committed[name] = copy.deepcopy(thing.state_dict())
        return thing

    def commit(self):
        self._committed = copy.deepcopy(self.states())

    def restore(self):
        self._load(copy.deepcopy(self._committed))

    def states(self):
        return {name: each.state_dict() for name, each in self._things.items()}

    def load(self, states):
        """Puts what has a state there into it; that is a commit, too. Returns a sentence without its end for each name
        that only one side has."""
        self._load({name: its for name, its in states.items() if name in self._things})
        self.commit()
        return ([f"'{name}' begins anew: it is not in" for name in sorted(self._things.keys() - states.keys())]
                + [f"'{name}' is left out: nothing carries it now, and it is in"
                   for name in sorted(states.keys() - self._things.keys())])

    def _load(self, states):
        for name, its in states.items():
            self._things[name].load_state_dict(its)
