"""Gangs of which ranks die: those that are left go on together, and the training is the one it would have been."""

import json
import os
import random
import re
import signal
import tempfile
import time
import unittest
from pathlib import Path

import support
from fake_agent import WITHIN_S, Agent

if support.HAS_TORCH:
    import torch
    from paceline.savepoint import Savepoint

SCRIPT = Path(__file__).with_name("training_script.py")
EPOCHS = 80
STEPS = EPOCHS * 10  # of 10 samples each
AN_EVALUATION_A_STEP = {"evaluates": True, "epochs": 3}
OPERATIONS = 36  # of the group, in the training in which one of them fails: a busy machine may have no more
SCHEDULES = int(os.environ.get("PACELINE_SCHEDULES", "3"))


@support.has_torch
class SavepointTest(unittest.TestCase):
    def test_buffers_that_a_module_assigns_anew_are_put_back(self):
        module = torch.nn.Module()
        module.register_buffer("mean", torch.ones(3))
        module.register_buffer("seen", None)
        before = module.mean
        savepoint = Savepoint([module], torch.device("cpu"))
        module.mean.mul_(2)
        module.mean, module.seen = module.mean * 0.5, torch.zeros(1)
        savepoint.restore()
        self.assertIs(module.mean, before)
        self.assertEqual(module.mean.tolist(), [1, 1, 1])
        self.assertIsNone(module.seen)


@support.has_torch
@support.has_library
class SurvivorsTest(unittest.TestCase):
    def start(self, size, **asked):
        agent = Agent(SCRIPT, json.dumps({"epochs": EPOCHS, "batch": 10, **asked}))
        self.addCleanup(agent.close)
        agent.start(size)
        return agent

    def until(self, agent, steps):
        """Returns once rank 0 has taken so many more steps."""
        def taken():
            return len(re.findall("^steps", agent.ranks[0].output(), re.M))

        goal, end = taken() + steps, time.monotonic() + WITHIN_S
        while taken() < goal:
            self.assertLess(time.monotonic(), end, agent.ranks[0].output())
            self.assertIsNone(agent.ranks[0].process.poll(), agent.ranks[0].output())
            time.sleep(0.01)

    def ends(self, agent):
        """What those say that stayed to the end."""
        found = []
        for each in agent.all:
            if each in agent.killed:
                continue
            self.assertEqual(each.wait(), 0, each.output())
            said = re.search(r"^result (.*)$", each.output(), re.M)
            if said:
                found.append(json.loads(said[1]))
        return found

    def hurried(self, size, acts, **asked):
        """A slow training, to which `acts(agent)` happens, and which then goes on to its end fast."""
        with tempfile.TemporaryDirectory() as folder:
            hurry = Path(folder) / "hurry"
            agent = self.start(size, slow=0.1, slow_until=str(hurry), **asked)
            self.until(agent, 3)
            acts(agent)
            hurry.touch()
            return agent, self.ends(agent)

    def assert_same(self, ended, alone, agent):
        self.assertTrue(ended)
        for each in ended:
            for one, other in zip(each["weights"], alone["weights"]):
                self.assertAlmostEqual(one, other, delta=1e-5)
            self.assertEqual(each["accuracies"][-1], alone["accuracies"][-1])
        for each in agent.all:
            self.assert_whole(each.output())

    def assert_whole(self, output):
        """No step was left out, and none was done twice: one that was void left the number what it was."""
        steps = [(int(before), int(after)) for before, after in re.findall(r"^steps (\d+) (\d+)$", output, re.M)]
        for (_, one), (other, after) in zip(steps, steps[1:]):
            self.assertEqual(one, other)
            self.assertIn(after - other, (0, 1))

    @classmethod
    def alone(cls, **asked):
        key = json.dumps(asked)
        if key not in cls._alone:
            agent = Agent(SCRIPT, json.dumps({"epochs": EPOCHS, "batch": 10, **asked}))
            agent.start(1)
            agent.all[0].wait()
            cls._alone[key] = json.loads(re.search(r"^result (.*)$", agent.all[0].output(), re.M)[1])
            agent.close()
        return cls._alone[key]

    _alone = {}

    def lose_some(self, agent):
        """Of four: two die one after the other, two come, and two die at once."""
        for act in (lambda: agent.kill(2), lambda: agent.kill(0), lambda: agent.resize([0, 1], 2), lambda: agent.kill(1, 3)):
            act()
            self.until(agent, 3)

    def test_the_training_is_the_one_it_would_have_been(self):
        agent, ended = self.hurried(4, self.lose_some)
        self.assert_same(ended, self.alone(), agent)
        said = "".join(each.output() for each in agent.all)
        self.assertIn("paceline: ranks were lost; 3 of 4 go on after step", said)
        self.assertRegex(said, r"Rank 2 is gone: .* Those that are left wait for the gang's next generation\.")

    def test_shards_that_can_only_be_gone_through(self):
        asked = {"stream": {"shards": [40, 25, 20, 15]}, "epochs": 40}
        agent, ended = self.hurried(4, self.lose_some, **asked)
        self.assert_same(ended, self.alone(**asked), agent)

    def test_others_come_in_place_of_the_dead(self):
        """Those that are left were too few, and waited."""
        def acts(agent):
            agent.replace(1)
            self.until(agent, 3)
            agent.replace(0)
            self.until(agent, 3)

        agent, ended = self.hurried(2, acts)
        self.assertEqual(len(ended), 2)
        self.assert_same(ended, self.alone(), agent)
        self.assertIn("paceline: ranks were lost; 2 of 2 go on after step", agent.ranks[0].output())
        exact = {"micro": 4, "exact": True, "chance": True, "epochs": 40}
        for each in self.hurried(2, acts, **exact)[1]:
            self.assertEqual(each["bits"], self.alone(**exact)["bits"])

    def test_exactly(self):
        asked = {"micro": 4, "exact": True, "chance": True, "epochs": 40}

        def acts(agent):
            agent.kill(1)
            self.until(agent, 3)
            agent.kill(0)
            self.until(agent, 3)

        agent, ended = self.hurried(3, acts, **asked)
        self.assertTrue(ended)
        for each in ended:
            self.assertEqual(each["bits"], self.alone(**asked)["bits"])

    def test_a_scaler_does_nothing_in_a_void_step(self):
        def acts(agent):
            agent.kill(1)
            self.until(agent, 3)
            agent.resize([0, 1], 1)
            self.until(agent, 3)

        agent, ended = self.hurried(3, acts, scaler=True, epochs=40)
        self.assert_same(ended, self.alone(epochs=40), agent)
        for each in ended:
            self.assertEqual(*each["updates"])

    def test_an_operation_that_ends_well_on_some_ranks_alone(self):
        """PACELINE_OPERATIONS: which ones, as 1..36; else some, one of them without script/test --all."""
        first, _, last = os.environ.get("PACELINE_OPERATIONS", "").partition("..")
        chosen = range(int(first), int(last) + 1) if last else support.variants(*random.sample(range(1, OPERATIONS + 1), 4))
        asked = {"epochs": 3, "batch": 30}
        for number in chosen:
            with self.subTest(operation=number):
                agent = self.start(3, **asked, fails_on=[number, *random.sample(range(3), 2)])
                agent.wait_until_all_wait()
                agent.kill(*[rank for rank, each in enumerate(agent.ranks) if each.process.poll() == -9])
                ended = self.ends(agent)
                self.assertEqual(len(ended), 2)
                self.assert_same(ended, self.alone(**asked), agent)
                for each in ended:
                    self.assertEqual(each["accuracies"], self.alone(**asked)["accuracies"])

    def grown_and_one_dead(self, size, new, holds, **asked):
        """The gang grows after step 5, and one of its ranks dies in an evaluation after that step. Returns those that are left,
        and the newcomers."""
        rank = random.randrange(size)
        agent = self.start(size, holds=str(holds), dies_evaluating=rank, **asked)
        stay = list(agent.ranks)
        for each in stay:
            each.wait_said(r"^steps 3 4$")
        agent.resize(range(size), new)
        for each in stay:
            each.wait_heard()
        holds.touch()
        self.assertEqual(stay[rank].wait(), -signal.SIGKILL, stay[rank].output())
        agent.kill(rank)
        return [each for each in stay if each is not stay[rank]], [each for each in agent.ranks if each not in stay]

    def test_a_death_in_an_evaluation_while_newcomers_wait_for_the_next_batch(self):
        """One of those that are left evaluates for all, and only then are others with them."""
        exact = {"micro": 4, "exact": True, "chance": True}
        for size, new, asked in ((2, 1, {}), (3, 2, {}), (3, 1, exact)):
            with self.subTest(size=size, new=new, asked=asked), tempfile.TemporaryDirectory() as folder:
                asked = {**AN_EVALUATION_A_STEP, **asked}
                stay, newcomers = self.grown_and_one_dead(size, new, Path(folder) / "goes on", **asked)
                alone, told = self.alone(**asked), []
                for each in [*stay, *newcomers]:
                    self.assertEqual(each.wait(), 0, each.output())
                    self.assert_whole(each.output())
                    its = json.loads(re.search(r"^result (.*)$", each.output(), re.M)[1])
                    told.append(its["accuracies"])
                    if "exact" in asked:  # samples that are drawn by chance are others in each evaluation
                        self.assertEqual(its["bits"], alone["bits"])
                        self.assertEqual(told[-1], told[0][-len(told[-1]):])
                        continue
                    for one, other in zip(its["weights"], alone["weights"]):
                        self.assertAlmostEqual(one, other, delta=1e-5)
                    self.assertEqual(told[-1], alone["accuracies"][5 if each in newcomers else 0:])

    def test_newcomers_that_wait_end_with_the_training(self):
        """The script leaves after step 5: what is left to do is done without them."""
        with tempfile.TemporaryDirectory() as folder:
            asked = {**AN_EVALUATION_A_STEP, "leaves": 5}
            published = Path(folder) / "net.pt"
            stay, newcomers = self.grown_and_one_dead(3, 1, Path(folder) / "goes on", publish=str(published), **asked)
            for each in [*stay, *newcomers]:
                self.assertEqual(each.wait(), 0, each.output())
            for each in stay:
                its = json.loads(re.search(r"^result (.*)$", each.output(), re.M)[1])
                self.assertEqual(its["accuracies"], self.alone(**asked)["accuracies"])
                self.assertIn(f"published {published}", each.output())
            self.assertTrue(published.exists())
            self.assertNotIn("result", newcomers[0].output())

    def test_what_one_rank_does_for_all_fails_on_all(self):
        with tempfile.TemporaryDirectory() as folder:
            models = Path(folder) / "models"
            models.touch()  # where the folder of models would be made
            stay, newcomers = self.grown_and_one_dead(3, 1, Path(folder) / "goes on", publish=str(models / "net.pt"), leaves=5,
                                                      **AN_EVALUATION_A_STEP)
            for each in stay:
                self.assertEqual(each.wait(), 1, each.output())
                self.assertIn(f"PacelineError: The model can't be written to {models}/net.pt", each.output())
            self.assertNotEqual(newcomers[0].wait(), 0, newcomers[0].output())

    def test_the_agents_silence_ends_with_the_error(self):
        with tempfile.TemporaryDirectory() as folder:
            agent = self.start(2, slow=0.01, slow_until=str(Path(folder) / "never"), timeout_s=3)
            self.until(agent, 3)
            agent.ranks[1].process.kill()
            self.assertEqual(agent.ranks[0].wait(), 1)
            self.assertRegex(agent.ranks[0].output(), r"GroupError: Rank 1 is gone")

    def test_time_in_which_it_was_paused_is_no_time_of_the_wait_for_others(self):
        """It is told of them meanwhile."""
        with tempfile.TemporaryDirectory() as folder:
            hurry = Path(folder) / "hurry"
            agent = self.start(2, slow=0.01, slow_until=str(hurry), timeout_s=3)
            self.until(agent, 3)
            left = agent._left_by([1])
            agent.wait_until_all_wait()
            os.kill(agent.ranks[0].pid, signal.SIGSTOP)
            agent.resize(left)
            time.sleep(4)  # longer than its patience
            os.kill(agent.ranks[0].pid, signal.SIGCONT)
            hurry.touch()
            self.assert_same(self.ends(agent), self.alone(), agent)

    def test_a_notice_ends_the_wait_for_others(self):
        with tempfile.TemporaryDirectory() as folder:
            agent = self.start(2, slow=0.01, slow_until=str(Path(folder) / "never"))
            self.until(agent, 3)
            agent.ranks[1].process.kill()
            agent.wait_until_all_wait()
            agent.ranks[0].process.terminate()
            self.assertEqual(agent.ranks[0].wait(), 1)

    def test_any_schedule(self):
        """PACELINE_SCHEDULES: how many; PACELINE_SEED: the first."""
        first = int(os.environ.get("PACELINE_SEED", str(random.randrange(1 << 30))))
        for seed in range(first, first + SCHEDULES):
            with self.subTest(seed=seed):
                print("schedule", seed, flush=True)
                chance = random.Random(seed)
                exact = chance.random() < 0.3
                asked = {"micro": 4, "exact": True, "chance": True} if exact else chance.choice([{}, {"evaluates": True}])
                if chance.random() < 0.4:
                    asked["stream"] = {"shards": [40, 25, 20, 15], "state": chance.random() < 0.7}
                agent, ended = self.hurried(chance.randint(2, 4), lambda it: self.play(it, chance), **asked)
                self.assert_same(ended, self.alone(**asked), agent)
                if exact:
                    for each in ended:
                        self.assertEqual(each["bits"], self.alone(**asked)["bits"])

    def play(self, agent, chance):
        agent.play(chance, lambda output: "\nsteps" in output, lambda steps: self.until(agent, steps))


if __name__ == "__main__":
    unittest.main()
