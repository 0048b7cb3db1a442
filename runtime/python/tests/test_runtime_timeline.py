"""Where the time of ranks goes: what is recorded of a training, on one clock, and how it comes to the agent."""

import json
import tempfile
import threading
import time
import unittest
from pathlib import Path

import support
from fake_agent import WITHIN_S, Agent

SCRIPT = Path(__file__).with_name("training_script.py")
HOUR_NS = 3600 * 10**9


class Place:
    rank, size, generation = 1, 2, 3


class Socket:
    """What a timeline is handed to. `fails`: what is raised instead."""

    def __init__(self):
        self.pieces, self.fails = [], None

    def hand_on_timeline(self, piece):
        if self.fails:
            raise self.fails
        self.pieces.append(json.loads(json.dumps(piece)))


@support.has_torch
class RecorderTest(unittest.TestCase):
    def setUp(self):
        from paceline import timeline
        from paceline.alone import Alone

        patience, timeline.HAND_ON_EVERY_S = timeline.HAND_ON_EVERY_S, 1e6  # not by itself
        self.addCleanup(setattr, timeline, "HAND_ON_EVERY_S", patience)
        self.now, self.socket = 5 * HOUR_NS, Socket()
        self.timeline = timeline.Timeline(self.socket, lambda: self.now)
        timeline.HAND_ON_EVERY_S = patience
        self.alone = Alone()

    def passes(self, microseconds):
        self.now += microseconds * 1000

    def hand_on(self, **how):
        before = len(self.socket.pieces)
        self.timeline._messenger._hand_on(**how)
        return self.socket.pieces[before:]

    def step(self, number):
        self.timeline.begin_step(number)
        with self.timeline.span("data"):
            self.passes(20)
        self.passes(300)
        with self.timeline.span("gradients"):
            self.passes(50)
        self.passes(30)
        self.timeline.end_step()
        self.passes(10)

    def test_spans_follow_each_other_without_a_gap(self):
        self.passes(1000)
        self.assertEqual(self.hand_on(), [], "nobody knows yet whose they are")
        self.timeline.stands(self.alone, Place)
        self.step(1)
        with self.timeline.span("evaluation"):
            self.passes(100)
            with self.timeline.span("others"):
                self.passes(40)
        self.step(2)
        piece, = self.hand_on()
        self.assertEqual([piece[name] for name in ("rank", "size", "generation", "ended")], [1, 2, 3, False])
        self.assertEqual([name for name, *_ in piece["spans"]],
                         ["start", "data", "compute", "gradients", "compute", "step", "script", "others", "evaluation",
                          "data", "compute", "gradients", "compute", "step"])
        self.assertEqual([step for _, step, *_ in piece["spans"]], [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
        at = 0
        for name, _, start, duration in piece["spans"]:
            if name not in ("step", "others"):
                self.assertEqual(start, at, name)
                at += duration
        self.assertEqual(piece["open"], [["script", 2, at]])
        self.assertEqual(piece["at_us"], at + 10)
        self.assertEqual(piece["from_us"], 5 * HOUR_NS // 1000)

    def test_what_was_done_outside_of_spans_may_be_named_later(self):
        """As callbacks of frameworks do, which hear of what others did when it is over."""
        self.timeline.was("data")
        self.passes(500)
        self.timeline.was("evaluation")
        self.timeline.stands(self.alone, Place)
        for number in (1, 2):
            self.passes(20)
            self.timeline.was("data")
            self.timeline.begin_step(number)
            self.passes(300)
            self.timeline.was("compute")
            self.passes(20)
            self.timeline.was("data")
            self.passes(300)
            self.timeline.end_step()
            self.passes(7)
            self.timeline.was("checkpoint")
        piece, = self.hand_on()
        self.assertEqual([[name, step, duration] for name, step, _, duration in piece["spans"]],
                         [["start", 0, 520],
                          ["compute", 1, 300], ["data", 1, 20], ["compute", 1, 300], ["step", 1, 620], ["checkpoint", 1, 7],
                          ["data", 1, 20],
                          ["compute", 2, 300], ["data", 2, 20], ["compute", 2, 300], ["step", 2, 620], ["checkpoint", 2, 7]])

    def test_what_lasts_is_told_more_and_more_seldom(self):
        self.timeline.stands(self.alone, Place)
        self.step(1)
        self.hand_on()
        told = []
        with self.timeline.span("gradients"):
            for second in range(300):
                told += [second for piece in self.hand_on()]
                self.now += 10**9
        self.assertEqual(told, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255])
        piece, = self.hand_on()
        self.assertEqual(piece["spans"][-1][3], 300 * 10**6)

    def test_what_was_not_taken_is_handed_on_later_in_order(self):
        self.timeline.stands(self.alone, Place)
        self.socket.fails = ConnectionError("the agent is away")
        self.step(1)
        with self.assertRaises(ConnectionError):
            self.hand_on()
        self.step(2)
        self.socket.fails = None
        steps = [span[1] for piece in self.hand_on() for span in piece["spans"] if span[0] == "step"]
        self.assertEqual(steps, [1, 2])
        *_, last = self.hand_on(ended=True)
        self.assertEqual((last["ended"], last["open"]), (True, []))

    def test_spans_belong_to_the_generation_that_they_end_in(self):
        self.timeline.stands(self.alone, Place)
        with self.timeline.span("resize"):
            self.passes(70)
            self.timeline.stands(self.alone, type("Next", (), {"rank": 0, "size": 1, "generation": 4}))
            self.passes(5)
        self.step(1)
        pieces = self.hand_on()
        self.assertEqual([each["generation"] for each in pieces], [4])
        self.assertEqual(pieces[0]["spans"][0][0], "resize")
        self.assertEqual(pieces[0]["clock"]["offset_us"], 0)

    def test_many_go_in_several_pieces_and_the_oldest_where_nobody_takes_them(self):
        from paceline import timeline

        self.timeline.stands(self.alone, Place)
        for number in range(1, timeline.SPANS_MAX):
            self.step(number)
        pieces = self.hand_on()
        self.assertGreater(len(pieces), 20)
        self.assertLess(max(len(json.dumps(each)) for each in pieces), 64 << 10)
        self.assertEqual(sum(len(each["spans"]) for each in pieces), timeline.SPANS_MAX)
        self.assertEqual(pieces[-1]["spans"][-1][:2], ["step", timeline.SPANS_MAX - 1])

    def test_a_span_costs_next_to_nothing(self):
        from paceline.timeline import Timeline

        recorder, count = Timeline(self.socket), 20_000
        begun = time.perf_counter()
        for _ in range(count):
            with recorder.span("data"):
                pass
        self.assertLess((time.perf_counter() - begun) / count, 50e-6)


@support.has_torch
@support.has_library
class ClocksTest(unittest.TestCase):
    def agreed(self, hosts, behind, known=None):
        """The Clock of each rank, of which it is known how far its clock is behind rank 0's."""
        from paceline import clocks
        from paceline.group import Group

        met, endpoints = threading.Barrier(len(hosts)), [None] * len(hosts)

        def run(rank):
            group = Group(rank, len(hosts), support.SECRET, timeout_s=60)
            with group:
                endpoints[rank] = group.endpoint
                met.wait()
                group.connect(endpoints)
                return clocks.agree(group, known if rank == 0 else None, lambda: time.monotonic_ns() - behind[rank],
                                    hosts[rank])

        found = support.on_threads(len(hosts), run)
        for each in found:
            if isinstance(each, Exception):
                raise each
        return found

    def test_another_hosts_clock_is_found_as_exactly_as_is_said(self):
        behind = [0, 0, 10**12, -7 * 10**9]
        zero, near, far, farther = self.agreed(["a", "a", "b", "c"], behind)
        self.assertEqual(near, zero)
        self.assertEqual((zero.offset_ns, zero.uncertainty_ns), (0, 0))
        for each, wanted in ((far, behind[2]), (farther, behind[3])):
            self.assertEqual(each.wall_ns, zero.wall_ns)
            self.assertGreater(each.uncertainty_ns, 0)
            self.assertLess(each.uncertainty_ns, 10**9)
            self.assertLessEqual(abs(each.offset_ns - wanted), each.uncertainty_ns)
        self.assertLess(abs(zero.wall_ns - (time.time_ns() - time.monotonic_ns())), 10**9)

    def test_the_gangs_clock_stays_as_long_as_rank_0_carries_it_on(self):
        from paceline.clocks import Clock

        zero, near, far = self.agreed(["b", "b", "c"], [0, 0, 500], Clock(10**9, 30, 77))
        self.assertEqual((zero, near), (Clock(10**9, 30, 77),) * 2)
        self.assertEqual(far.wall_ns, 77)
        self.assertLessEqual(abs(far.offset_ns - 10**9 - 500), far.uncertainty_ns)
        self.assertGreater(far.uncertainty_ns, 30)


@support.has_torch
@support.has_library
class TrainingTest(unittest.TestCase):
    """Real processes under an agent of the tests' own: resizes, a death, an evaluation, checkpoints."""

    def until(self, happened, told):
        end = time.monotonic() + WITHIN_S
        while not happened():
            self.assertLess(time.monotonic(), end, told())
            time.sleep(0.02)

    def train(self, folder):
        hurry = Path(folder) / "hurry"
        agent = Agent(SCRIPT, json.dumps({"epochs": 40, "batch": 10, "slow": 0.05, "slow_until": str(hurry),
                                          "folder": folder, "every": 0.2}))
        self.addCleanup(agent.close)
        agent.start(2)
        for change in (lambda: agent.resize([0, 1], 1), lambda: agent.kill(1)):
            before = agent.generation
            self.until(lambda: all(self.steps(each, before) >= 3 for each in agent.ranks), agent.ranks[0].output)
            change()
        self.until(lambda: self.steps(agent.ranks[0], agent.generation) >= 3, agent.ranks[0].output)
        hurry.touch()
        for each in agent.all:
            if each not in agent.killed:
                self.assertEqual(each.wait(), 0, each.output())
        return agent

    def steps(self, process, generation):
        return len([1 for piece in list(process.timeline) if piece["generation"] == generation
                    for name, *_ in piece["spans"] if name == "step"])

    def spans(self, process, track="spans"):
        """[(name, step, begin, end)] in the gang's microseconds."""
        return [(name, step, base + start, base + start + duration) for piece in process.timeline
                for base in [piece["from_us"] + piece["clock"]["offset_us"]]
                for name, step, start, duration in piece[track]]

    def test_all_that_ranks_do_is_told_on_one_clock(self):
        with tempfile.TemporaryDirectory() as folder:
            agent = self.train(folder)
        survivor, killed, newcomer = agent.all
        self.assertEqual([[each["generation"] for each in process.timeline][-1] for process in agent.all], [3, 2, 3])
        self.assertEqual([each.timeline[-1]["ended"] for each in agent.all], [True, False, True])
        self.assertEqual({each["clock"]["uncertainty_us"] for process in agent.all for each in process.timeline}, {0})
        self.assertEqual(len({each["clock"]["wall_us"] for process in agent.all for each in process.timeline}), 1)
        names = {name for name, *_ in self.spans(survivor)}
        self.assertEqual(names, {"start", "step", "data", "compute", "gradients", "others", "resize", "checkpoint",
                                 "evaluation", "script"})
        self.assertEqual([name for name, *_ in self.spans(survivor)].count("resize"), 2)
        self.assertGreater(len(self.spans(survivor, "beside")), 1, "writes of checkpoints")
        self.assertEqual({name for name, *_ in self.spans(survivor, "beside")}, {"write"})
        for process in agent.all:
            self.expect_a_whole_time(process)
        self.expect_steps_together(survivor, newcomer)

    def expect_a_whole_time(self, process):
        """No gap and no overlap on the outermost level; what is within another is so as a whole."""
        spans = [each for each in self.spans(process) if each[0] != "step"]
        spans.sort(key=lambda each: (each[2], -each[3]))
        ends, gaps = [], 0
        for name, step, begin, end in spans:
            while ends and ends[-1] <= begin:
                outer = ends.pop()
                gaps += begin - outer if not ends else 0
            self.assertTrue(not ends or end <= ends[-1], f"{name} of step {step} overlaps")
            ends.append(end)
        self.assertLessEqual(gaps, (spans[-1][3] - spans[0][2]) * 0.01)

    def expect_steps_together(self, one, other):
        steps = {step: (begin, end) for name, step, begin, end in self.spans(one) if name == "step"}
        both = 0
        for name, step, begin, end in self.spans(other):
            if name == "step":
                both += 1
                self.assertLess(begin, steps[step][1])
                self.assertLess(steps[step][0], end)
        self.assertGreater(both, 20)


if __name__ == "__main__":
    unittest.main()
