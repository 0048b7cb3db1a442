"""Lightning under Paceline: it reports, makes room with a checkpoint, and stops when the model is good enough.

    trainer = Trainer(..., callbacks=[PacelineCallback("checkpoints")])
    trainer.fit(model, data, ckpt_path=os.environ.get("PACELINE_CHECKPOINT"))

It reports what modules log (self.log), once a second and after each validation, and keeps the newest two checkpoints
of its own in the folder: one before it makes room, and one when the training ends.
"""

import sys
import time
from pathlib import Path

from lightning.pytorch import Callback

from paceline.attendant import EXIT_REQUEUE
from paceline.boundary import Boundary
from paceline.checkpoint import remove_older
from paceline.report import report

REPORT_EVERY_S = 1.0


class PacelineCallback(Callback):
    def __init__(self, folder="checkpoints"):
        self._folder = Path(folder).resolve()
        self._boundary = Boundary()
        self._step = None  # at the boundary before
        self._reported_at = 0.0

    def on_train_start(self, trainer, module):
        self._boundary.begin()

    # Only where a batch starts is the place in the epoch that of the last step.
    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        timeline = self._boundary.timeline
        timeline.was("data")
        if trainer.global_step == self._step:
            return  # gradients are being accumulated
        self._step = trainer.global_step
        timeline.begin_step(self._step + 1)
        makes_room, should_stop = self._boundary.reached()
        trainer.should_stop = trainer.should_stop or should_stop
        if time.monotonic() - self._reported_at >= REPORT_EVERY_S:
            self._report(trainer)
        if makes_room:
            self._save(trainer)
            sys.exit(EXIT_REQUEUE)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step == self._step:
            self._boundary.timeline.was("compute")
        else:
            self._boundary.timeline.end_step()

    def on_validation_end(self, trainer, module):
        self._boundary.timeline.was("evaluation")
        if not trainer.sanity_checking:
            self._report(trainer)

    def on_train_end(self, trainer, module):
        self._report(trainer)
        self._save(trainer)
        self._boundary.end()

    def _report(self, trainer):
        self._reported_at = time.monotonic()
        if trainer.is_global_zero:
            metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
            report(**{**metrics, "step": trainer.global_step, "total_steps": trainer.estimated_stepping_batches})

    def _save(self, trainer):
        path = self._folder / f"paceline-{trainer.global_step:09d}.ckpt"
        with self._boundary.timeline.span("checkpoint"):
            trainer.save_checkpoint(path)
        if trainer.is_global_zero:
            report(checkpoint=str(path), step=trainer.global_step)
            remove_older(self._folder, "paceline-*.ckpt", path)
