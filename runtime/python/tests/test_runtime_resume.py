"""What goes on with a training through starts and resizes in place: what it carries, what it is told, and what is audited."""

import json
import re
import shutil
import tempfile
import time
import unittest
from pathlib import Path

import support
from fake_agent import Agent

if support.HAS_TORCH:
    import torch
    from paceline.audit import RecentLoss, differences
    from paceline.errors import PacelineError
    from paceline.named import NamedStates

SCRIPT = Path(__file__).with_name("resume_script.py")
WITHIN_S = 300  # less than the ranks' patience with each other
ON_THE_CPU = {"CUDA_VISIBLE_DEVICES": ""}


def said(output, word):
    return [json.loads(each) for each in re.findall(f"^{word} (.*)$", output, re.M)]


@support.has_torch
class NamedStatesTest(unittest.TestCase):
    def test_a_value_goes_back_to_the_last_commit(self):
        named = NamedStates()
        words = named.add("words", ["one"])
        words.value.append("two")
        named.restore()
        self.assertEqual(words.value, ["one"], "what was given is a commit")
        words.value.append("two")
        named.commit()
        words.value.append("three")
        named.restore()
        words.value.append("four")
        named.restore()
        self.assertEqual(words.value, ["one", "two"])

    def test_a_thing_with_a_state_stays_the_same_object(self):
        named, module = NamedStates(), torch.nn.Linear(2, 2)
        self.assertIs(named.add("average", module), module)
        before = module.weight.clone()
        with torch.no_grad():
            module.weight.add_(1)
        named.restore()
        self.assertTrue(torch.equal(module.weight, before))

    def test_what_can_not_be_carried(self):
        named = NamedStates()
        named.add("name", 1)
        with self.assertRaisesRegex(PacelineError, "two things named 'name'"):
            named.add("name", 2)
        with self.assertRaisesRegex(PacelineError, "'function' can't be carried, since it can't be pickled"):
            named.add("function", lambda: None)

    def test_states_of_other_names(self):
        named = NamedStates()
        one = named.add("one", 1)
        named.add("new", 2)
        self.assertEqual(named.load({"one": {"value": 5}, "old": {"value": 6}}),
                         ["'new' begins anew: it is not in", "'old' is left out: nothing carries it now, and it is in"])
        one.value = 7
        named.restore()
        self.assertEqual(one.value, 5, "what was loaded is a commit")


@support.has_torch
class RecordTest(unittest.TestCase):
    RECORD = {"step": 12, "samples": 120, "place": [1, 20], "order": "abc", "batch": [10, None], "rates": [[0.1, 0.2]]}

    def differences(self, *ranks):
        return list(differences(self.RECORD, [{**self.RECORD, **each} for each in ranks], "before"))

    def test_each_difference_is_one_sentence(self):
        self.assertEqual(self.differences({}, {}), [])
        self.assertEqual(self.differences({"step": 13}, {"step": 13}), ["the training is at step 13, before it was at step 12"])
        found = self.differences({}, {"samples": 0, "place": [0, 0], "order": "abd", "batch": [5, "sqrt"], "rates": [[0.1, 0.3]]})
        self.assertEqual(found, [
            "on rank 1 the training has seen 0 samples, before it had seen 120",
            "on rank 1 the data go on at sample 0 of epoch 0, before they were at sample 20 of epoch 1: samples come twice or not "
            "at all",
            "on rank 1 the samples come in another order than before (shuffle=?), so some come twice or not at all in this epoch",
            "on rank 1 a global batch has 5 samples for each rank (sqrt), before it had 10 samples",
            "on rank 1 the learning rates are 0.1, 0.3, before they were 0.1, 0.2: pass the scheduler to job.distribute(), and "
            "change no rate after job.checkpoint()"])

    def test_the_recent_loss_forgets(self):
        class Alone:
            def all_reduce(self, *_):
                pass

        recent = RecentLoss()
        self.assertIsNone(recent.over_all(Alone()))
        for loss in [8.0] * 50 + [2.0] * 50:
            recent.begin_step()
            recent.add(loss, 4)
        self.assertAlmostEqual(recent.over_all(Alone()), 2.0, delta=0.05)


@support.has_torch
@support.has_library
class ResumeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="paceline-runtime-")
        self.addCleanup(shutil.rmtree, self.folder)

    def train(self, size, codes, **asked):
        """The ranks' outputs."""
        gang = support.Gang(SCRIPT, size, json.dumps({"folder": self.folder, **asked}), **ON_THE_CPU)
        self.addCleanup(gang.kill)
        ended = gang.ends(WITHIN_S)
        for code, output in ended:
            self.assertIn(code, codes, output)
        return [output for _, output in ended]

    def leave(self, size, **asked):
        """A training that is left after step 12: sample 20 of epoch 1, where global batches have ten samples."""
        return self.train(size, [75], notice_at=12, steps=100, **asked)

    def go_on(self, size, **asked):
        return self.train(size, [0], steps=20, **asked)

    def resized(self, size, *schedule, codes=(0,), **asked):
        agent = Agent(SCRIPT, json.dumps({"generation": 1 + len(schedule), **asked}), **ON_THE_CPU)
        self.addCleanup(agent.close)
        agent.start(size)
        for keep, new in schedule:
            agent.resize(keep, new)
            self.until_resized(agent)
        for each in agent.all:
            self.assertIn(each.wait(), codes, each.output())
        return agent

    def until_resized(self, agent):
        end, first = time.monotonic() + WITHIN_S, agent.ranks[0]
        while all(each["generation"] != agent.generation for each in said(first.output(), "resized")):
            self.assertLess(time.monotonic(), end, first.output())
            if first.process.poll() is not None:
                return
            time.sleep(0.02)

    # ---- what is carried ----

    def test_what_is_carried_goes_on_at_a_start(self):
        self.leave(2)
        for output in self.go_on(3):
            self.assertEqual(said(output, "result")[0]["carried"], {"tally": 32, "words": {"a word": 32}})

    def test_newcomers_get_what_is_carried_and_all_go_back_to_the_same(self):
        agent = self.resized(2, ([1], 2))
        told = [said(each.output(), "resized")[0] for each in agent.ranks]
        step = told[0]["step"]
        for each in told:
            self.assertEqual(each["step"], step)
            self.assertEqual(each["carried"], {"tally": step, "words": {"a word": step}})
            self.assertEqual(each["restored"], each["carried"])
        for each in agent.ranks:
            self.assertEqual(said(each.output(), "result")[0]["carried"], {"tally": step + 8, "words": {"a word": step + 8}})

    def test_a_step_that_a_broken_collective_makes_void_can_be_taken_back(self):
        outputs = self.train(3, [1], fails=True)
        for rank in (0, 2):
            self.assertEqual(said(outputs[rank], "void"), [[{"tally": 5, "words": {"a word": 5}}, {"tally": 4, "words": {"a word": 4}}]])

    def test_names_that_only_one_side_has_are_told(self):
        self.leave(1)
        output, = self.go_on(1, names=["new"])
        for sentence in ("'new' begins anew: it is not in", "'words' is left out: nothing carries it now, and it is in"):
            self.assertRegex(output, rf"(?m)^{sentence} ckpt-\d+\.pt\.$")

    def test_what_can_not_be_carried(self):
        self.assertIn("job.carry('late', …) came too late", self.train(1, [1], late="carry")[0])
        self.assertIn("'optimizer' belongs to job.distribute()", self.train(1, [1], late="optimizer")[0])

    # ---- what the script is told ----

    def test_every_rank_is_told_of_every_resize_and_where_it_is(self):
        agent = self.resized(2, ([1, 0], 1), ([2], 0), ([0], 1))
        by_generation = {}
        for each in agent.all:
            for told in said(each.output(), "resized"):
                by_generation.setdefault(told["generation"], {})[told["rank"]] = told
        for generation, sizes in ((2, [2, 3]), (3, [3, 1]), (4, [1, 2])):
            self.assertEqual(sorted(by_generation[generation]), list(range(sizes[1])))
            for rank, told in by_generation[generation].items():
                self.assertEqual((told["sizes"], told["size"], told["local_rank"], told["device"]), (sizes, sizes[1], rank, "cpu"))

    def test_a_start_with_other_ranks_is_told_and_one_with_the_same_is_not(self):
        self.assertEqual([said(each, "resized") for each in self.leave(2)], [[], []])
        self.assertEqual([said(each, "resized") for each in self.train(2, [75], notice_at=1, steps=100)], [[], []])
        told, = said(self.go_on(1)[0], "resized")
        self.assertEqual((told["sizes"], told["step"], told["carried"]["tally"]), ([2, 1], 13, 13))

    def test_an_error_in_what_is_called_is_the_scripts_own(self):
        agent = self.resized(1, ([0], 0), codes=[1], raises=True)
        self.assertRegex(agent.ranks[0].output(), "LookupError: of the script's own$")

    # ---- the audit ----

    def audited(self, outputs):
        for each in outputs[1:]:
            self.assertNotIn("paceline: ", each, "rank 0 speaks for all")
        self.told = [json.loads(each)["paceline"]["resume_audit"]
                     for each in re.findall('^{"paceline": {"resume_audit".*$', outputs[0], re.M)]
        return re.findall("^paceline: (.*)$", outputs[0], re.M)

    def test_a_start_that_agrees_is_one_line(self):
        self.leave(2)
        line, = self.audited(self.go_on(3))
        self.assertRegex(line, r"^resumed at step 12 of checkpoint ckpt-000000000120\.pt: samples, data position, learning rate agree; "
                         r"loss 0\.\d+ \(0\.\d+ before\)$")
        self.assertEqual(self.told, [{"agrees": True, "text": line.removeprefix("resumed at ")}])

    def test_a_resize_in_place_that_agrees_is_one_line(self):
        agent = self.resized(2, ([1, 0], 1), scale="sqrt")
        line, = self.audited([each.output() for each in agent.ranks])
        self.assertRegex(line, r"^resumed at step \d+ in place, on 3 ranks: samples, data position, learning rate agree; loss ")

    def test_a_script_may_leave_the_loop_over_batches_before_a_resize(self):
        agent = self.resized(1, ([0], 1), short=True)
        line, = self.audited([each.output() for each in agent.ranks])
        self.assertIn("agree", line)
        for each in agent.ranks:
            self.assertEqual(said(each.output(), "resized")[0]["sizes"], [1, 2])

    def test_a_newcomer_with_another_model(self):
        agent = Agent(SCRIPT, json.dumps({"generation": 3, "joins_with": 5}))
        self.addCleanup(agent.close)
        agent.start(1)
        agent.resize([0], 1)
        stays, joins = agent.ranks
        self.assertEqual(joins.wait(), 1, joins.output())
        agent.kill(1)
        self.assertEqual(stays.wait(), 0, stays.output())
        for each in (stays, joins):
            self.assertIn("The ranks built different models: rank 0 has 0.bias (4 float32), rank 1 has 0.bias (5 float32)",
                          each.output())

    def test_a_batch_that_scales_agrees_by_its_rule_alone(self):
        self.leave(1, scale="linear")
        line, = self.audited(self.train(2, [75], notice_at=1, scale="linear"))
        self.assertIn("learning rate agree", line)
        found = self.audited(self.go_on(1, scale="sqrt"))
        self.assertEqual(found, ["resume audit: a global batch has 10 samples for each rank (sqrt), in checkpoint "
                                 "ckpt-000000000140.pt it had 10 samples for each rank (linear)."])

    def test_what_a_script_does_otherwise_is_one_sentence_each(self):
        self.leave(2)
        found = self.audited(self.go_on(2, batch=20, shuffle=False, late_rate=0.5))
        self.assertEqual(len(found), 3, found)
        self.assertEqual(self.told[0], {"agrees": False, "text": "; ".join(each[len("resume audit: "):-1] for each in found)})
        self.assertIn("a global batch has 20 samples, in checkpoint ckpt-000000000120.pt it had 10 samples.", found[1])
        self.assertIn("another order", found[0])
        self.assertRegex(found[2], r"learning rates are 0\.5, in checkpoint ckpt-000000000120\.pt they were 0\.0886")

    def test_a_state_that_is_not_that_of_its_record_is_told(self):
        self.leave(1)
        path = max(Path(self.folder).glob("ckpt-*.pt"))
        saved = torch.load(path, weights_only=False)
        saved["order"]["position"], saved["samples"], saved["steps"] = 30, 130, 13
        torch.save(saved, path)
        found = self.audited(self.go_on(1))
        self.assertEqual([each.split(",")[0] for each in found[:3]], [
            "resume audit: the training is at step 13", "resume audit: the training has seen 130 samples",
            "resume audit: the data go on at sample 30 of epoch 1"])

    def test_a_loss_that_jumps_is_told(self):
        self.leave(2)
        line, = self.audited(self.go_on(2, spoil=True))
        self.assertRegex(line, r"^resume audit: the loss is [\d.]+ in the first steps after the resume, 0\.\d+ in checkpoint "
                         r"ckpt-000000000120\.pt: more than 2 times as much\.$")
        self.assertEqual(self.told, [{"agrees": False, "text": line[len("resume audit: "):-1]}])

    def test_a_training_that_is_left_sooner_is_audited_all_the_same(self):
        self.leave(1)
        self.assertIn("agree; loss", self.audited(self.train(1, [75], notice_at=1, steps=100))[0])


if __name__ == "__main__":
    unittest.main()
