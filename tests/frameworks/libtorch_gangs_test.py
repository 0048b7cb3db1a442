"""Gangs of a C++ program with LibTorch that go on with other ranks, under an agent of the tests' own: ranks that stay are not started
anew, and the training is the one it would have been."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from libtorch_build import CLOSE, ROOT, SAMPLES, TRAINING, build, has_libtorch

sys.path.insert(0, str(ROOT / "runtime/python/tests"))
from fake_agent import WITHIN_S, Agent

EPOCHS = 12
STEPS = EPOCHS * -(-SAMPLES // 30)
SCHEDULES = int(os.environ.get("PACELINE_SCHEDULES", "3"))
EXACT = ("micro=4", "exact", "chance=2")  # micro-batches of which the last of a global batch is smaller


class Gang(Agent):
    def __init__(self, *arguments):
        super().__init__("")
        self._command = [str(TRAINING), *map(str, arguments)]


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
@unittest.skipUnless(has_libtorch(), "LibTorch's headers are not installed: script/bootstrap --frameworks")
class GangsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build()
        cls.known = {}  # what comes out alone, by what decides it

    @classmethod
    def alone(cls, *options):
        """The ending of one process alone; how slow it is, who dies, and the like make no difference."""
        deciding = tuple(each for each in options if each.split("=")[0] in (
            "micro", "exact", "chance", "weighted", "samples", "pair", "freezes", "melts", "rests", "alternates"))
        if deciding not in cls.known:
            cls.known[deciding] = cls.ending(cls.process_alone(EPOCHS, *deciding))
        return cls.known[deciding]

    @staticmethod
    def process_alone(epochs, *options):
        done = subprocess.run([TRAINING, str(epochs), "-", *options], capture_output=True, text=True, timeout=WITHIN_S)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    @staticmethod
    def ending(output):
        """The weights, the buffers and the last accuracy, where it has come to the end."""
        found = re.search(r"^WEIGHTS (.*)\nBUFFERS (.*)$", output, re.M)
        return found and (*([float(each) for each in part.split()] for part in found.groups()),
                          float(re.findall(r"^ACCURACY (.*)$", output, re.M)[-1]))

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, size, *options, epochs=EPOCHS):
        gang = Gang(epochs, "-", "tell", *options)
        self.addCleanup(gang.close)
        gang.start(size)
        return gang

    def until(self, gang, steps):
        """Returns once rank 0 has come to the end of so many more."""
        def taken():
            steps = re.findall(r"^STEPS (\d+) (\d+)$", gang.ranks[0].output(), re.M)
            return sum(before != after for before, after in steps)

        goal, end = taken() + steps, time.monotonic() + WITHIN_S
        while taken() < goal:
            self.assertLess(time.monotonic(), end, gang.ranks[0].output())
            self.assertIsNone(gang.ranks[0].process.poll(), gang.ranks[0].output())
            time.sleep(0.01)

    def after(self, size, acts, *options):
        """A slow training, to which `acts(gang)` happens, and which then went on to its end fast."""
        hurry = self.folder / "hurry"
        hurry.unlink(missing_ok=True)
        gang = self.start(size, "pause=0.1", f"hurry={hurry}", *options)
        self.until(gang, 3)
        acts(gang)
        hurry.touch()
        self.expect_the_same(gang, *options)
        return gang

    def expect_the_same(self, gang, *options):
        """All but the killed end well, and those that stay to the end have the same weights, which one process alone comes to."""
        for each in gang.all:
            if each not in gang.killed:
                self.assertEqual(each.wait(), 0, each.output())
            self.expect_whole(each.output())
        endings = [self.ending(each.output()) for each in gang.all if each not in gang.killed]
        endings = [each for each in endings if each]
        self.assertEqual(len(endings), len(gang.ranks), "the others have left")
        self.assertEqual([each for each in endings if each != endings[0]], [], "ranks differ")
        wanted = self.alone(*options)
        if "exact" in options:
            self.assertEqual(endings[0], wanted, "the same bits")
        self.assertAlmostEqual(endings[0][2], wanted[2], delta=0.005)
        for one, other in zip(endings[0][0], wanted[0], strict=True):
            self.assertAlmostEqual(one, other, delta=CLOSE)

    def expect_whole(self, output):
        """No step was left out, and none was done twice: one that was void left the number what it was."""
        steps = [(int(before), int(after)) for before, after in re.findall(r"^STEPS (\d+) (\d+)$", output, re.M)]
        for (_, one), (other, after) in zip(steps, steps[1:]):
            self.assertEqual(one, other)
            self.assertIn(after - other, (0, 1))

    def seen(self, gang):
        return sorted((int(epoch), int(index)) for each in gang.all for epoch, indices in
                      re.findall(r"^SAW (\d+) \d+ (.*)$", each.output(), re.M) for index in indices.split())

    def told_of_resizes(self, process):
        return re.findall(r"^RESIZED (.*)$", process.output(), re.M)

    def test_resizes(self):
        def acts(gang):
            for keep, new in ([0, 1], 2), ([3, 0, 1], 0), ([0, 2], 1), ([1], 0), ([0], 2):
                gang.resize(keep, new)
                self.until(gang, 3)

        for options in ((), ("max_local=4", "evaluates=2")):
            with self.subTest(options=options):
                gang = self.after(2, acts, *options)
                self.assertEqual(len(gang.all), 7, "nobody was started anew")
                self.assertEqual(self.seen(gang), [(epoch, index) for epoch in range(EPOCHS) for index in range(SAMPLES)])
                self.assertEqual(self.told_of_resizes(gang.all[1]), ["2 4", "4 3", "3 3", "3 1", "1 3"])
                self.assertEqual(self.told_of_resizes(gang.all[6]), ["1 3"])

    def test_layers_that_were_frozen_or_unfrozen_before_others_came(self):
        """In the middle of an epoch: newcomers never come to those lines."""
        for options in (("freezes=2",), ("melts=2",), ("freezes=2", "micro=4", "exact"), ("melts=2", "micro=4", "exact")):
            with self.subTest(options=options):
                self.after(2, lambda gang: (gang.resize([0, 1], 1), self.until(gang, 3)), *options)

    def test_models_that_are_left_out(self):
        """One of which nothing is trained any more, and one that is under each third loss alone."""
        for left_out in ("rests=4", "alternates"):
            for more in ((), ("max_local=4",), ("micro=4", "exact")):
                with self.subTest(left_out=left_out, more=more):
                    options = ("pair", left_out, *more)
                    self.expect_the_same(self.start(2, *options), *options)

    def test_a_program_may_leave_the_loop_over_batches_before_a_resize(self):
        hurry = self.folder / "hurry"
        gang = self.start(1, "pause=0.1", f"hurry={hurry}", "short", epochs=60)
        self.until(gang, 2)
        gang.resize([0], 1)
        self.until(gang, 8)
        hurry.touch()
        for each in gang.all:
            self.assertEqual(each.wait(), 0, each.output())
            self.assertEqual(self.told_of_resizes(each), ["1 2"])
            self.expect_whole(each.output())
        line, = self.audited(gang)
        self.assertIn("in place, on 2 ranks: samples, data position, learning rate agree", line)

    def test_a_program_that_evaluates_and_publishes_before_its_loop(self):
        """A newcomer does so by itself: the others are in their loops. What was published stays."""
        path = self.folder / "net.pt"
        gang = self.after(1, lambda gang: (gang.resize([0], 1), self.until(gang, 3)), "before", f"publish={path}")
        for each in gang.all:
            self.assertEqual(re.findall(r"^PUBLISHED (.*)$", each.output(), re.M), [str(path)])
        self.assertEqual([len(re.findall('"model"', each.output())) for each in gang.all], [2, 0])

    def test_a_newcomer_with_another_model_alone_ends(self):
        hurry = self.folder / "hurry"
        gang = self.start(1, "pause=0.1", f"hurry={hurry}", "wide=1")
        self.until(gang, 2)
        gang.resize([0], 1)
        self.assertEqual(gang.all[1].wait(), 1)
        self.assertIn("The ranks built different models", gang.all[1].output())
        gang.killed.append(gang.all[1])
        gang.resize([0])
        self.until(gang, 2)
        hurry.touch()
        self.expect_the_same(gang)

    def deaths(self, gang):
        """One after the other, two at once, and newcomers in between."""
        gang.kill(2)
        self.until(gang, 3)
        gang.kill(0)
        self.until(gang, 3)
        gang.resize([0, 1], 2)
        self.until(gang, 3)
        gang.kill(1, 3)
        self.until(gang, 3)

    def test_deaths(self):
        for options in (("carries",), ("max_local=4", "evaluates=2")):
            with self.subTest(options=options):
                gang = self.after(4, self.deaths, *options)
                carried = [re.findall(r"^CARRIED (\d+) (.*)$", each.output(), re.M) for each in gang.ranks]
                expected = [(str(STEPS), f"{STEPS} {STEPS} {STEPS} in generation 1")] if "carries" in options else []
                self.assertEqual(carried, [expected] * len(gang.ranks))
                said = "".join(each.output() for each in gang.all)
                self.assertIn("paceline: ranks were lost; 3 of 4 go on after step", said)
                self.assertRegex(said, r"Rank 2 is gone: .* Those that are left wait for the gang's next generation\.")

    def test_a_death_at_any_place_of_a_step(self):
        for where in (1, 2, 3, 4):
            rank = random.randrange(3)
            with self.subTest(where=where, rank=rank):
                gang = self.start(3, f"dies={rank}", f"where={where}", "evaluates=1")
                gang.wait_until_all_wait()
                gang.kill(rank)
                self.expect_the_same(gang)

    def grown_and_one_dead(self, size, new, *options, epochs=EPOCHS):
        """The gang grows after step 5, and one of its ranks dies in the evaluation after that step. Returns it, and those that are left."""
        rank, holds = random.randrange(size), self.folder / f"held-{size}-{new}-{len(options)}"
        gang = self.start(size, f"dies={rank}", "where=4", f"holds={holds}", *options, epochs=epochs)
        stay = list(gang.ranks)
        for each in stay:
            each.wait_said(r"^STEPS 3 4$")
        gang.resize(range(size), new)
        for each in stay:
            each.wait_heard()
        holds.touch()
        self.assertEqual(stay[rank].wait(), -signal.SIGKILL, stay[rank].output())
        gang.kill(rank)
        return gang, [each for each in stay if each is not stay[rank]]

    def test_a_death_in_an_evaluation_while_newcomers_wait_for_the_next_batch(self):
        """Those that are left evaluate, and only then are others with them."""
        for size, new, options in ((2, 1, ()), (3, 2, ("carries",)), (3, 1, EXACT)):
            with self.subTest(size=size, new=new, options=options):
                gang, stay = self.grown_and_one_dead(size, new, "evaluates=1", *options)
                self.expect_the_same(gang, *options)
                self.assertEqual([self.told_of_resizes(each) for each in gang.ranks], [[f"{size} {size - 1 + new}"]] * len(gang.ranks))
                accuracies = [re.findall(r"^ACCURACY (.*)$", each.output(), re.M) for each in stay]
                self.assertEqual(len(accuracies[0]), STEPS + EPOCHS)
                self.assertEqual([each for each in accuracies if each != accuracies[0]], [], "ranks differ")

    def test_newcomers_that_wait_end_with_the_training(self):
        """Which step 5 is the last of: what is left to do is done without them."""
        gang, stay = self.grown_and_one_dead(3, 1, "evaluates=1", "ends=5", f"publish={self.folder}/net.pt")
        for each in gang.ranks:
            self.assertEqual(each.wait(), 0, each.output())
        for each in stay:
            accuracies = re.findall(r"^ACCURACY (.*)$", each.output(), re.M)
            self.assertEqual((len(accuracies), accuracies[-1]), (6, accuracies[-2]))
            self.assertIn("WEIGHTS", each.output())
        newcomer, = set(gang.ranks) - set(stay)
        self.assertNotIn("WEIGHTS", newcomer.output())

    def test_a_notice_ends_the_wait_for_others(self):
        gang = self.start(2, "pause=0.1")
        self.until(gang, 3)
        gang.ranks[1].process.kill()
        gang.wait_until_all_wait()
        gang.ranks[0].process.terminate()
        self.assertEqual(gang.ranks[0].wait(), 1)
        self.assertRegex(gang.ranks[0].output(), r"(?m)^paceline: Rank 1 is gone: its connection ended\.$")

    def test_any_schedule(self):
        """PACELINE_SCHEDULES: how many; PACELINE_SEED: the first."""
        first = int(os.environ.get("PACELINE_SEED", str(random.randrange(1 << 30))))
        for seed in range(first, first + SCHEDULES):
            with self.subTest(seed=seed):
                print("schedule", seed, flush=True)
                chance = random.Random(seed)
                options = chance.choice([(), ("max_local=4", "evaluates=2"), EXACT, ("evaluates=1", *EXACT)])
                self.after(chance.randint(2, 4), lambda gang: self.play(gang, chance), *options)

    # ---- exact ----

    def test_exact_is_exact_on_any_number_of_ranks(self):
        for options in (("chance=1",), ("chance=2",), ("chance=3",), ("weighted",)):
            options = ("micro=4", "exact", *options)
            for size in (1, 3, 4):
                with self.subTest(options=options, size=size):
                    self.expect_the_same(self.start(size, *options), *options)
        endings = [self.alone("micro=4", "exact", each) for each in ("chance=1", "chance=2", "chance=3")]
        for one, other in zip(endings, [*endings[1:], endings[0]]):
            self.assertNotEqual(one[0], other[0], "chance makes a difference")

    def test_micro_batches_alone_are_exact_to_within_rounding(self):
        wanted = self.ending(self.process_alone(2, *EXACT))[0]
        for size in (1, 3):
            with self.subTest(size=size):
                gang = self.start(size, "micro=4", "chance=2", epochs=2)
                for each in gang.all:
                    self.assertEqual(each.wait(), 0, each.output())
                for one, other in zip(self.ending(gang.ranks[0].output())[0], wanted, strict=True):
                    self.assertAlmostEqual(one, other, delta=CLOSE)

    def test_what_can_not_be_exact(self):
        for sentence, options in (
                (r"paceline: \.exact needs \.micro: the number of samples of a micro-batch", ["exact"]),
                (r"paceline: A training is exact as a whole, or not at all", ["micro=4", "exact=2"]),
                (r"paceline: The buffer seen changes while a batch is computed", ["micro=4", "exact", "notices"]),
                (r"paceline: With \.micro a sample's chance is its own, and LibTorch's threads share one generator: leave \.workers at "
                 r"0, or give the dataset void seed\(std::uint64_t\)", ["micro=4", "chance=1", "threads=2"])):
            with self.subTest(options=options):
                done = subprocess.run([TRAINING, "2", "-", *options], capture_output=True, text=True, timeout=WITHIN_S)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, sentence)
        self.process_alone(1, "micro=4", "notices")

    def test_exact_through_resizes(self):
        def acts(gang):
            for keep, new in ([0, 1], 2), ([3, 0, 1], 0), ([1], 0), ([0], 2):
                gang.resize(keep, new)
                self.until(gang, 3)

        for options in (EXACT, ("micro=4", "exact", "chance=3")):
            with self.subTest(options=options):
                self.after(2, acts, *options)

    def test_exact_through_deaths(self):
        self.after(4, self.deaths, *EXACT)

    def test_exact_where_a_rank_dies_at_any_place_of_a_step(self):
        for where in (1, 2, 3, 4):
            rank = random.randrange(3)
            with self.subTest(where=where, rank=rank):
                gang = self.start(3, f"dies={rank}", f"where={where}", "evaluates=1", *EXACT)
                gang.wait_until_all_wait()
                gang.kill(rank)
                self.expect_the_same(gang, *EXACT)

    # ---- the audit ----

    def test_a_resize_in_place_that_agrees_is_one_line(self):
        gang = self.after(2, lambda gang: (gang.resize([1, 0], 1), self.until(gang, 6)))
        line, = self.audited(gang)
        self.assertRegex(line, r"^resumed at step \d+ in place, on 3 ranks: samples, data position, learning rate agree; "
                               r"loss 0\.\d+ \(0\.\d+ before\)$")

    def test_a_newcomer_with_another_learning_rate_is_told(self):
        gang = self.start(1, "pause=0.1", "late=1")
        self.until(gang, 2)
        gang.resize([0], 1)
        for each in gang.all:
            self.assertEqual(each.wait(), 1, each.output())
        line, = self.audited(gang)
        self.assertEqual(line, "resume audit: on rank 1 the learning rates are 0.5, before the resize they were 0.01: set them by "
                               "job.steps(), and change none after job.checkpoint().")

    def test_a_start_that_agrees_is_one_line(self):
        self.leave()
        line, = self.go_on()
        self.assertRegex(line, r"^resumed at step 12 of checkpoint ckpt-000000000360\.pt: samples, data position, learning rate agree; "
                               r"loss 0\.\d+ \(0\.\d+ before\)$")

    def test_a_start_after_the_end_of_an_epoch_agrees(self):
        self.go_on()
        line, = self.go_on("longer")
        self.assertIn("resumed at step 42 of checkpoint ckpt-000000001208.pt: samples, data position, learning rate agree", line)

    def test_what_a_program_does_otherwise_is_one_sentence_each(self):
        self.leave()
        where = "in checkpoint ckpt-000000000360.pt"
        self.assertEqual(self.go_on("batch=20", "in_order", "rate=0.5"), [
            f"resume audit: the samples come in another order than {where} (shuffle=?), so some come twice or not at all in this epoch.",
            f"resume audit: a global batch has 20 samples, {where} it had 30 samples.",
            f"resume audit: the learning rates are 0.5, {where} they were 0.01: set them by job.steps(), and change none after "
            "job.checkpoint()."])

    def test_a_loss_that_jumps_is_told(self):
        self.leave()
        line, = self.go_on("spoils")
        self.assertRegex(line, r"^resume audit: the loss is [\d.]+ in the first steps after the resume, 0\.\d+ in checkpoint "
                               r"ckpt-000000000360\.pt: more than 2 times as much\.$")

    def test_a_training_that_is_left_sooner_is_audited_all_the_same(self):
        self.leave(12)
        line, = self.leave(14)
        self.assertIn("learning rate agree; loss", line)

    def leave(self, step=12):
        """A training alone, from its checkpoint if it has one, that is left after this step. What it says of a resume."""
        return self.resume(75, f"leaves={step}")

    def go_on(self, *options):
        return self.resume(0, *options)

    def resume(self, code, *options):
        epochs = "3" if "longer" in options else "2"
        done = subprocess.run([TRAINING, epochs, str(self.folder), *options], capture_output=True, text=True, timeout=WITHIN_S)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.told_of_resumes(done.stderr)

    def told_of_resumes(self, text):
        return re.findall(r"^paceline: (resume.*)$", text, re.M)

    def audited(self, gang):
        return [line for each in gang.all for line in self.told_of_resumes(each.output())]

    def play(self, gang, chance):
        gang.play(chance, lambda output: "\nSTEPS" in output, lambda steps: self.until(gang, steps))


if __name__ == "__main__":
    unittest.main()
