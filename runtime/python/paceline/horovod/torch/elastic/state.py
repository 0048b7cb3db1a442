"""TorchState: what a training goes on from."""

from paceline.errors import PacelineError
from paceline.horovod.torch.elastic.keeping import Plain, kind_of


class TorchState:
    """`model`, `optimizer` and any further values; they are attributes of the state.

    What has a state_dict() is kept by it, an ElasticSampler by what all ranks have trained with, everything else by
    copies.
    """

    def __init__(self, model=None, optimizer=None, **values):
        given = {"model": model, "optimizer": optimizer}
        values = {**{name: value for name, value in given.items() if value is not None}, **values}
        vars(self).update(_kept={name: kind_of(value)(value) for name, value in values.items()}, _callbacks=[], _commits=None)

    def __getattr__(self, name):
        kept = vars(self).get("_kept", {})
        if name not in kept:
            raise AttributeError(f"this TorchState has no {name!r}: it has {', '.join(kept)}")
        return kept[name].value

    def __setattr__(self, name, value):
        known = self._kept.get(name)
        if type(known) is kind_of(value) is Plain:
            known.value = value  # and what was saved stays
        else:
            self._kept[name] = kind_of(value)(value)

    def save(self):
        """Keeps the values as they are now, in memory."""
        for each in self._kept.values():
            each.save()

    def restore(self):
        """Goes back to what save() or commit() kept last."""
        for each in self._kept.values():
            each.restore()

    def sync(self):
        """Every rank's values become rank 0's, and are kept."""
        for each in self._kept.values():
            each.sync()
        self.save()

    def commit(self):
        """Keeps the values, in memory and in a checkpoint. Where a notice has come, on any rank, all leave after it."""
        self.save()
        if self._commits:
            self._commits.commit(self)

    def check_host_updates(self):
        """Where a notice has come, on any rank, all keep the values as they are now and leave."""
        if self._commits:
            self._commits.check(self)

    def register_reset_callbacks(self, callbacks):
        """They are called after a start from a commit, when size() and rank() may be others."""
        self._callbacks.extend(callbacks)

    def on_reset(self):
        for callback in self._callbacks:
            callback()

    # ---- for elastic.run ----

    def attach(self, commits):
        """From now on commits are kept there; None: in memory alone."""
        vars(self)["_commits"] = commits

    def gathered(self):
        """What was saved, by name, for a checkpoint. Every rank calls it."""
        return {name: each.gathered() for name, each in self._kept.items()}

    def load(self, saved, path):
        """Raises PacelineError where a checkpoint is of another state."""
        if saved.keys() != self._kept.keys():
            raise PacelineError(f"{path} holds {', '.join(saved)}, this TorchState has {', '.join(self._kept)}. Remove the "
                                "folder to begin anew.")
        try:
            for name, each in self._kept.items():
                each.saved = saved[name]
                each.restore()
        except (RuntimeError, ValueError, KeyError) as error:
            raise PacelineError(f"{path} has another {name}: {str(error).splitlines()[-1].strip()} Remove the folder to "
                                "begin anew.") from error
