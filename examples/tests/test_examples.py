"""The examples that train with the package paceline: alone, in gangs, and bad input."""

import signal
import tempfile
import unittest
from pathlib import Path

from support import HAS_TORCH, Gang, make_tiny_digits, needs_torch

if HAS_TORCH:
    from common.text import load_text

ROOT = Path(__file__).resolve().parents[2]
EVERY = ["--batch", "32", "--held-out", "64", "--evaluate-every", "5", "--checkpoint-every", "3600"]
METRICS = {"digits": {"loss", "accuracy"}, "vae": {"loss", "psnr"}, "text": {"loss", "bits_per_char", "accuracy"}}
has_library = unittest.skipUnless((ROOT / "build/release/runtime/python/libpaceline.so.0").exists(),
                                  "libpaceline is not built")


@needs_torch
class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.data = Path(folder.name)
        make_tiny_digits(cls.data)
        cls.text = cls.data / "text.txt"
        cls.text.write_text("The quick brown fox jumps over the lazy dog, again and again.\n" * 400)

    def gang(self, name, size, *arguments, **environment):
        data = self.text if name == "text" else self.data
        return Gang(size, f"{name}/train.py", *EVERY, "--data", data, *arguments, **environment)

    def train(self, name, size, *arguments):
        """The last report of each step."""
        with self.gang(name, size, *arguments) as gang:
            self.assertEqual(gang.finish(), [0] * size, gang.errors())
            return {report["step"]: report for report in gang.reports if "loss" in report}

    def test_each_trains_alone_and_reports_what_it_is_said_to(self):
        for name, metrics in METRICS.items():
            with self.subTest(name):
                reports = self.train(name, 1, "--epochs", 2)
                last = reports[max(reports)]
                self.assertLessEqual(metrics, set(last))
                self.assertEqual(last["epoch"], 2.0)
                self.assertLess(last["loss"], reports[min(reports)]["loss"])

    def test_text_counts_every_character_once(self):
        train, _, _ = load_text(self.text, 64)
        reports = self.train("text", 1, "--epochs", 1)
        self.assertEqual(reports[max(reports)]["samples"], len(train))

    @has_library
    def test_three_ranks_train_what_one_trains(self):
        alone, three = self.train("digits", 1, "--epochs", 2), self.train("digits", 3, "--epochs", 2)
        self.assertEqual(sorted(alone), sorted(three))
        for step, report in alone.items():
            self.assertAlmostEqual(three[step]["loss"], report["loss"], delta=0.01 * report["loss"], msg=step)

    @has_library
    def test_a_notice_and_another_number_of_ranks(self):
        alone = self.train("digits", 1, "--epochs", 2)
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--epochs", 2, "--checkpoint-dir", folder]
            with self.gang("digits", 2, *arguments) as gang:
                gang.read_until(10)
                gang.workers[1].send_signal(signal.SIGTERM)  # one alone is told; both give way
                self.assertEqual(gang.finish(), [75, 75], gang.errors())
                saved = gang.checkpoints()[-1]
            again = self.train("digits", 1, *arguments)
        self.assertGreater(min(again), saved["step"])
        for step, report in again.items():
            self.assertAlmostEqual(report["loss"], alone[step]["loss"], delta=0.01 * report["loss"], msg=step)

    def refuse(self, words, name, *arguments, **environment):
        with self.gang(name, 1, *arguments, **environment) as gang:
            self.assertEqual(gang.finish(), [2], gang.errors())
            self.assertRegex(gang.errors(), words)
            self.assertEqual(gang.errors().count("\n"), 1, gang.errors())

    def test_bad_input_is_one_sentence_and_code_2(self):
        torn = self.data / "torn.pt"
        torn.write_bytes(b"PK\3\4")
        self.refuse("has no train-images-idx3-ubyte", "digits", "--data", "/")
        self.refuse("'0.5' is not a whole number from 1", "vae", "--epochs", "0.5")
        self.refuse("RANK=0 does not fit WORLD_SIZE=-1", "text", WORLD_SIZE="-1")
        self.refuse("no complete checkpoint", "text", "--checkpoint-dir", self.data, PACELINE_CHECKPOINT=str(torn))
        self.refuse("can't be written to", "text", "--checkpoint-dir", torn / "x")


if __name__ == "__main__":
    unittest.main()
