"""Hugging Face's Trainer under Paceline: it reports, makes room with a checkpoint, and stops when the model is good enough.

    trainer = Trainer(..., callbacks=[PacelineCallback()])
    trainer.train(resume_from_checkpoint=os.environ.get("PACELINE_CHECKPOINT"))

It reports what the Trainer logs (TrainingArguments: logging_steps), and acknowledges each checkpoint that it saves.
"""

import sys
from pathlib import Path

from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from paceline.attendant import EXIT_REQUEUE
from paceline.boundary import Boundary
from paceline.report import report


class PacelineCallback(TrainerCallback):
    def __init__(self):
        self._boundary = Boundary()
        self._makes_room = False

    def on_train_begin(self, args, state, control, **_):
        self._boundary.begin()

    def on_step_begin(self, args, state, control, **_):
        self._boundary.timeline.was("data")
        self._boundary.timeline.begin_step(state.global_step + 1)

    def on_step_end(self, args, state, control, **_):
        self._makes_room, should_stop = self._boundary.reached()
        self._boundary.timeline.end_step()
        if self._makes_room or should_stop:
            control.should_save = control.should_training_stop = True

    def on_log(self, args, state, control, logs=None, **_):
        if state.is_world_process_zero:
            numbers = {name: value for name, value in (logs or {}).items() if isinstance(value, (int, float))}
            report(**{**numbers, "step": state.global_step, "total_steps": state.max_steps})

    def on_evaluate(self, args, state, control, **_):
        self._boundary.timeline.was("evaluation")

    def on_save(self, args, state, control, **_):
        self._boundary.timeline.was("checkpoint")
        if state.is_world_process_zero:
            saved = Path(args.output_dir, f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}").resolve()
            report(checkpoint=str(saved), step=state.global_step)
        if self._makes_room:
            sys.exit(EXIT_REQUEUE)

    def on_train_end(self, args, state, control, **_):
        self._boundary.end()
