"""Scripts that were written for Horovod: each call on one, two and three ranks, and whole trainings through stops and starts."""

import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import support

CALLS = Path(__file__).with_name("horovod_calls.py")
SCRIPT = Path(__file__).with_name("horovod_script.py")
EXIT_REQUEUE = 75


class HorovodTest(unittest.TestCase):
    def run_gang(self, script, size, *arguments, **options):
        gang = support.Gang(script, size, *arguments, **options)
        self.addCleanup(gang.kill)
        return gang.ends()

    def assert_ends(self, ended, code=0):
        for each, output in ended:
            self.assertEqual(each, code, output[-3000:])

    def found(self, word, ended):
        """What stands in JSON behind a word, on all ranks."""
        return [json.loads(each) for _, output in ended for each in re.findall(rf"^{word} (.*)$", output, re.M)]


@support.has_torch
@support.has_library
class CallsTest(HorovodTest):
    """What is asserted stands in horovod_calls.py."""

    def holds(self, which, *sizes):
        for size in support.variants(*sizes):
            with self.subTest(ranks=size):
                self.assert_ends(self.run_gang(CALLS, size, which))

    def test_every_call_gives_what_horovod_gives(self):
        self.holds("call", 3, 2, 1)

    def test_the_optimizer_trains_as_one_process(self):
        self.holds("optimizer", 3, 2, 1)

    def test_who_is_out_of_data_joins(self):
        self.holds("joined_training", 3, 2)
        self.holds("joined_needs", 2)

    def test_what_is_wrong_is_one_sentence(self):
        self.holds("wrong", 2, 1)

    def test_ranks_that_differ_are_told_so(self):
        self.holds("differ", 3, 2)
        self.holds("mixed", 2)
        self.holds("apart", 2)


@support.has_torch
@support.has_library
class ScriptTest(HorovodTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="paceline-horovod-")
        self.addCleanup(shutil.rmtree, self.folder)

    def train(self, size, *arguments, **options):
        return self.run_gang(SCRIPT, size, *arguments, folder=self.folder, **options)

    def elastic(self, size, *arguments, **options):
        return self.train(size, "--elastic", *arguments, **options)

    def commits(self):
        return sorted(Path(self.folder).glob(".paceline-elastic/*/*.pt"))

    def assert_each_sample_once(self, ended, epochs=3, samples=480):
        seen = [tuple(pair) for batch in self.found("seen", ended) for pair in batch]
        self.assertEqual(sorted(seen), [(epoch, index) for epoch in range(epochs) for index in range(samples)])

    def test_a_classic_script(self):
        for size, arguments in support.variants((3, ["--fp16-allreduce", "--gradient-predivide-factor", "2"]), (2, [])):
            ended = self.train(size, *arguments)
            self.assert_ends(ended)
            self.assertGreater(self.found("result", ended)[-1]["accuracy"], 0.9)

    def test_a_classic_script_that_asks_for_what_is_not_there(self):
        (code, output), = self.train(1, "--use-adasum")
        self.assertEqual(code, 1)
        self.assertRegex(output, "ValueError: op=Adasum is not there: use op=Average")

    def test_an_elastic_script_goes_on_with_other_ranks(self):
        stopped = self.elastic(2, "--stop-after", 6)
        self.assert_ends(stopped, EXIT_REQUEUE)
        self.assertEqual(self.found("from", stopped), [[0, 0, 0.1]] * 2)
        reports = [json.loads(line) for line in stopped[0][1].splitlines() if line.startswith('{"paceline"')]
        self.assertEqual(reports[-1]["paceline"], {"checkpoint": str(self.commits()[-1].resolve()), "epoch": 0.0})
        ended = self.elastic(3)
        self.assert_ends(ended)
        self.assertIn("Going on from", ended[0][1])
        self.assertEqual(self.found("reset", ended), [3] * 3)
        self.assertEqual([[epoch, batch, round(rate, 6)] for epoch, batch, rate in self.found("from", ended)], [[0, 6, 0.15]] * 3)
        self.assert_each_sample_once(stopped + ended)
        self.assertGreater(self.found("result", ended)[-1]["accuracy"], 0.9)
        self.assertEqual(self.commits(), [], "they have served")

    def test_a_notice_is_taken_where_the_script_asks_for_it(self):
        stopped = self.elastic(2, "--stop-after", 12, "--check-only", "--epochs", 1)
        self.assert_ends(stopped, EXIT_REQUEUE)
        ended = self.elastic(1, "--check-only", "--epochs", 1)
        self.assert_ends(ended)
        self.assert_each_sample_once(stopped + ended, epochs=1)

    def test_a_rank_that_dies(self):
        *survivors, _ = self.elastic(3, "--die-after", 4, "--epochs", 1)
        self.assert_ends(survivors, 1)
        for _, output in survivors:
            self.assertRegex(output, r"Rank 2 is gone.*The next start goes on from the last commit\.")
        ended = self.elastic(2, "--epochs", 1)
        self.assert_ends(ended)
        self.assertIn("Going on from", ended[0][1])

    def test_a_jobs_commits_are_its_own_and_stay(self):
        self.assert_ends(self.elastic(1, "--epochs", 1, PACELINE_JOB_ID="7"))
        kept = self.commits()
        self.assertEqual({path.parent.name for path in kept}, {"job-7"})
        again = self.elastic(1, "--epochs", 1, PACELINE_JOB_ID="7")
        self.assert_ends(again)
        self.assertEqual(self.found("seen", again), [])
        kept[-1].write_bytes(b"torn")
        (code, output), = self.elastic(1, "--epochs", 1, PACELINE_JOB_ID="7", PACELINE_CHECKPOINT=str(kept[-1]))
        self.assertEqual(code, 1)
        self.assertIn("is no complete checkpoint. Remove it", output)


if __name__ == "__main__":
    unittest.main()
