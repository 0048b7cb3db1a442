"""Gangs that go on with other ranks: ranks that stay are not started anew, and the training is the one it would have been."""

import itertools
import json
import re
import tempfile
import time
import unittest
from pathlib import Path

import support
from fake_agent import WITHIN_S, Agent

SCRIPT = Path(__file__).with_name("training_script.py")
EPOCHS = 40


@support.has_torch
@support.has_library
class ResizingTest(unittest.TestCase):
    def start(self, size, **asked):
        agent = Agent(SCRIPT, json.dumps(asked))
        self.addCleanup(agent.close)
        agent.start(size)
        return agent

    def results(self, agent):
        """What those that stayed to the end say; all ended well."""
        for each in agent.all:
            self.assertEqual(each.wait(), 0, each.output())
        said = [re.search(r"^result (.*)$", each.output(), re.M) for each in agent.all]
        return [json.loads(each[1]) for each in said if each]

    def train_to_the_end(self, size, **asked):
        return self.results(self.start(size, **asked))[0]

    def seen(self, agent):
        return [tuple(pair) for each in agent.all for line in re.findall(r"^seen (.*)$", each.output(), re.M)
                for pair in json.loads(line)]

    def until(self, agent, steps):
        """Returns once rank 0 has taken so many more steps."""
        def taken():
            return len(re.findall("^seen", agent.ranks[0].output(), re.M))

        goal, end = taken() + steps, time.monotonic() + WITHIN_S
        while taken() < goal:
            self.assertLess(time.monotonic(), end, agent.ranks[0].output())
            time.sleep(0.02)

    def test_a_rank_tells_its_python_stacks(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        hurry = Path(folder.name, "hurry")
        agent = self.start(2, epochs=EPOCHS, slow=0.2, slow_until=str(hurry))
        self.until(agent, 2)
        for rank in agent.ranks:
            told = rank.stacks()
            self.assertEqual(told["pid"], rank.pid)
            main = told["text"].split("(most recent call last):")[:2]
            self.assertEqual(main[0].strip(), "MainThread")
            self.assertIn("training_script.py", main[1])
        hurry.touch()
        self.results(agent)

    def resized(self, schedule, **asked):
        with tempfile.TemporaryDirectory() as folder:
            hurry = Path(folder) / "hurry"
            agent = self.start(2, slow=0.2, slow_until=str(hurry), **asked)
            for keep, new in schedule:
                self.until(agent, 3)
                agent.resize(keep, new)
            self.until(agent, 3)
            hurry.touch()
            self.ended = self.results(agent)
        return agent

    def test_newcomers_leave_where_the_others_have_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            hurry = Path(folder) / "hurry"
            agent = self.start(2, epochs=EPOCHS, slow=0.2, slow_until=str(hurry))
            self.until(agent, 3)
            stay = list(agent.ranks)
            newcomers = agent.come_too_late(2)
            hurry.touch()
            for each in stay:
                self.assertEqual(each.wait(), 0, each.output())
            agent.dismiss(newcomers)
            for each in newcomers:
                self.assertEqual(each.wait(), 0, each.output())

    def test_a_script_that_evaluates_and_publishes_before_its_loop(self):
        """A newcomer does so by itself: the others are in their loops. What was published stays."""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "net.pt"
            agent = self.resized([([0, 1], 1)], epochs=EPOCHS, batch=10, before=str(model))
            *stay, newcomer = [re.search(r"^before (\S+) (.*)$", each.output(), re.M) for each in agent.all]
            self.assertEqual(len({each[1] for each in stay}), 1)
            self.assertEqual([each[2] for each in (*stay, newcomer)], [str(model)] * 3)
            self.assertEqual([len(re.findall('"model"', each.output())) for each in agent.all], [1, 0, 0])

    SCHEDULE = [([0, 1], 2), ([3, 0, 1], 0), ([0, 2], 1), ([1], 0), ([0], 2)]

    def test_the_training_is_the_one_it_would_have_been(self):
        asked = {"epochs": EPOCHS, "batch": 10}
        alone = self.train_to_the_end(1, **asked)
        agent = self.resized(self.SCHEDULE, **asked)
        for each in self.ended:
            for one, other in zip(each["weights"], alone["weights"]):
                self.assertAlmostEqual(one, other, delta=1e-5)
            self.assertEqual(each["accuracies"][-1], alone["accuracies"][-1])
        self.assertEqual(len(agent.all), 7, "nobody was started anew")
        seen = self.seen(agent)
        self.assertEqual(sorted(seen), [(epoch, index) for epoch in range(EPOCHS) for index in range(100)])

    def test_layers_that_were_frozen_or_unfrozen_before_others_came(self):
        """In the middle of an epoch: newcomers never come to those lines."""
        changes = {"freeze": 2}, {"melt": 2}
        for freezes, more in itertools.product(changes, support.variants({}, {"micro": 4, "exact": True})):
            with self.subTest(freezes=freezes, **more):
                asked = {"epochs": EPOCHS, "batch": 10, "freezes": freezes, **more}
                alone = self.train_to_the_end(1, **asked)
                self.resized([([0, 1], 1)], **asked)
                for each in self.ended:
                    for one, other in zip(each["weights"], alone["weights"]):
                        self.assertAlmostEqual(one, other, delta=1e-5)

    def test_exactly_and_with_a_loaders_workers(self):
        asked = {"epochs": EPOCHS, "batch": 10, "micro": 4, "exact": True, "chance": True, "loader_workers": 1}
        alone = self.train_to_the_end(1, **asked)
        self.resized(self.SCHEDULE[:3], **asked)
        for each in self.ended:
            self.assertEqual(each["bits"], alone["bits"])

    def test_shards_that_can_only_be_gone_through(self):
        asked = {"epochs": EPOCHS, "batch": 10, "micro": 4, "exact": True, "stream": {"shards": [40, 25, 20, 15]}}
        alone = self.train_to_the_end(1, **asked)
        agent = self.resized(self.SCHEDULE, **asked)
        for each in self.ended:
            self.assertEqual(each["bits"], alone["bits"])
        self.assertEqual(len(agent.all), 7, "nobody was started anew")
        self.assertEqual(sorted(self.seen(agent)), [(epoch, index) for epoch in range(EPOCHS) for index in range(100)])


if __name__ == "__main__":
    unittest.main()
