"""Schedules by chance against a real server: a training is resized, loses workers, has them stopped by signals, and loses the server
with its agent, also one during the other. After every step that a rank took it has the weights that a training on one worker has after it.

PACELINE_SCHEDULES: how many; PACELINE_SEED: the first.
"""

import os
import random
import re
import signal
import sys
import time
import unittest
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(Path(__file__).resolve().parent)]
from box import Box
from first_hour_test import can_train
from people import BINARY

PATIENCE = 180  # seconds
SCHEDULES = int(os.environ.get("PACELINE_SCHEDULES", "3"))
EPOCHS, BATCHES = 60, 10  # of them an epoch
SLOTS = 4
SCRIPT = Path(__file__).with_name("exact_training.py")


class SchedulesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not can_train():
            raise unittest.SkipTest("without PyTorch")
        cls.box = Box(BINARY, slots=SLOTS)
        cls.addClassCleanup(cls.box.close)
        cls.box.up()
        job, folder = cls.start("alone", "1")
        (folder / "hurry").touch()
        cls.until(job, lambda: cls.box.job(job)["ended_at"], "does not end")
        cls.alone = dict(cls.digests(job))
        assert len(cls.alone) == EPOCHS * BATCHES, cls.logs(job)[-3000:]

    @classmethod
    def start(cls, name, slots):
        folder = cls.box.directory / name
        folder.mkdir()
        job = cls.box.submit("--slots", slots, "--retry", "100", "--grace", "5s", "--",
                             "/usr/bin/python3", str(SCRIPT), str(folder), str(EPOCHS))
        cls.until(job, lambda: cls.digests(job), "does not train")
        return job, folder

    @classmethod
    def until(cls, job, happened, what):
        cls.box.until(happened, PATIENCE, f"job {job} {what}", told=lambda: "".join(
            cls.box.call(command, str(job), check=False).stdout[-6000:] for command in ("logs", "why", "show", "stacks")))

    @classmethod
    def logs(cls, job):
        return cls.box.call("logs", str(job)).stdout

    @classmethod
    def digests(cls, job):
        return [(int(step), digest) for step, digest in re.findall(r"DIGEST (\d+) (\w{16})$", cls.logs(job), re.M)]

    def test_any_schedule(self):
        first = int(os.environ.get("PACELINE_SEED", str(random.randrange(1 << 30))))
        for seed in range(first, first + SCHEDULES):
            with self.subTest(seed=seed):
                print("schedule", seed, flush=True)
                chance = random.Random(seed)
                job, folder = self.start(str(seed), f"{chance.choice((1, 1, 2))}..{SLOTS}")
                for _ in range(chance.randint(3, 8)):
                    chance.choice((self.resize, self.resize, self.kill, self.kill, self.stop, self.lose_the_server))(job, chance)
                    time.sleep(chance.choice((0, chance.random() * 0.3, chance.random() * 3)))
                (folder / "hurry").touch()
                self.until(job, lambda job=job: self.box.job(job)["ended_at"], "does not end")
                self.expect_the_training_it_would_have_been(job)

    def resize(self, job, chance):
        self.box.call("resize", str(job), "--workers", str(chance.randint(1, SLOTS)), check=False)

    def pids(self, job):
        return [each["pid"] for each in self.box.job(job)["gang"] or [] if each["pid"]]

    def some(self, job, chance):
        pids = self.pids(job)
        return chance.sample(pids, min(len(pids), chance.choice((1, 1, 2))))

    def signal(self, pid, number):
        with suppress(ProcessLookupError):  # it has ended since
            os.kill(pid, number)

    def kill(self, job, chance):
        for pid in self.some(job, chance):
            self.signal(pid, signal.SIGKILL)

    def stop(self, job, chance):
        """For a moment, or until the agent ends it; one that isn't in paceline.init() yet it knows nothing of."""
        pids = self.some(job, chance)
        for pid in pids:
            self.signal(pid, signal.SIGSTOP)
        end = time.monotonic() + chance.choice((chance.random(), 5))
        while time.monotonic() < end and set(pids) & set(self.pids(job)):
            time.sleep(0.1)
        for pid in pids:
            self.signal(pid, signal.SIGCONT)

    def lose_the_server(self, _, chance):
        self.box.kill()
        time.sleep(chance.random())
        self.box.up()

    def expect_the_training_it_would_have_been(self, job):
        shown = self.box.job(job)
        told = self.logs(job)[-4000:]
        self.assertEqual(shown["state"], "COMPLETED", told)
        digests = self.digests(job)
        # Of a step that ended well on dying ranks alone, those that took it from them don't tell.
        self.assertEqual(max(digests)[0], EPOCHS * BATCHES)
        wrong = [(step, digest) for step, digest in digests if self.alone[step] != digest]
        self.assertEqual(wrong, [], told)
        self.box.until(lambda: not self.box.processes(), PATIENCE, f"job {job} left processes behind")


if __name__ == "__main__":
    unittest.main()
