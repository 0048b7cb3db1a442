"""When the gradients of which model are summed over the ranks, where several models are trained together."""

import torch

from paceline.errors import GroupError
from paceline.group import MAX


class Sums:
    """The gradients of all models, in the order of distribute(). A model's are summed at the end of the backward() that
    completes them. Of several models the same ones are summed at the same time on every rank: those that any rank's
    backward() came to."""

    def __init__(self, ranks, pieces):
        self._ranks, self._pieces = ranks, pieces
        self._of_models = []
        self._due = []  # what the backward() that runs completes

    def add(self, gradients):
        self._of_models.append(gradients)

    @property
    def of_several(self):
        """Then nothing is sent before all ranks know what is next: their backward() may come to models in another order."""
        return len(self._of_models) > 1

    def begin(self, weight):
        """The next piece is `weight` of the global batch."""
        self._due = []
        for each in self._of_models:
            each.begin(weight)

    def is_due(self, gradients):
        """The backward() that runs completes these."""
        if not self._due:
            torch.autograd.Variable._execution_engine.queue_callback(self._finish_due)
        if gradients not in self._due:
            self._due.append(gradients)

    def _finish_due(self):
        due, self._due = self._due, []
        self.finish(due)

    def finish(self, some=None):
        """All pieces have been differentiated for these, or for all. Nothing more where that was done already."""
        wanted = [each for each in (self._of_models if some is None else some) if not each.done]
        if not wanted:
            return
        for each in wanted:
            each.check()
        for each in self._wanted_by_any(wanted):
            each.finish()

    @property
    def done(self):
        """The global batch is summed up."""
        return all(each.done for each in self._of_models)

    def _wanted_by_any(self, wanted):
        flags = torch.tensor([float(each in wanted) for each in self._of_models], dtype=torch.float64)
        if self.of_several and self._ranks.group.size > 1 and not self._pieces.error:
            try:
                with self._ranks.timeline.span("gradients"):
                    self._ranks.group.all_reduce(flags, MAX)
            except GroupError as error:
                self._pieces.suffer(error)
        # In the order of distribute().
        return [each for each, flag in zip(self._of_models, flags.tolist()) if flag]
