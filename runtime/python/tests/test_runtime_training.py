"""The same training on any number of ranks, through stops and starts: real processes, real PyTorch."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

if support.HAS_TORCH:
    import torch

SCRIPT = Path(__file__).with_name("training_script.py")


def results(ended):
    found = []
    for code, output in ended:
        if code != 0:
            raise AssertionError(f"ended with {code}:\n{output[-3000:]}")
        found.append(json.loads(re.search(r"^result (.*)$", output, re.M)[1]))
    return found


def seen(ended):
    return [tuple(each) for _, output in ended for line in re.findall(r"^seen (.*)$", output, re.M)
            for each in json.loads(line)]


@support.has_torch
@support.has_library
class TrainingTest(unittest.TestCase):
    def start(self, size, generation=1, **asked):
        gang = support.Gang(SCRIPT, size, json.dumps(asked), generation=generation)
        self.addCleanup(gang.kill)
        return gang

    def train(self, size, generation=1, **asked):
        return self.start(size, generation, **asked).ends()

    def folder(self):
        path = tempfile.mkdtemp(prefix="paceline-runtime-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def assert_close(self, one, other, delta=1e-5):
        self.assertEqual(len(one), len(other))
        self.assertLess(max(abs(a - b) for a, b in zip(one, other)), delta)

    def test_any_number_of_ranks_trains_what_one_trains(self):
        alone, = results(self.train(1))
        self.assertTrue(alone["never"], "a parameter that is unused everywhere has no gradient")
        for size, asked in support.variants((3, {"max_local": 4}), (2, {}), (3, {"order": "zero last", "max_local": 3}),
                                            (4, {"loader_workers": 1}), (1, {"max_local": 7})):
            ended = self.train(size, **asked)
            for each in results(ended):
                self.assert_close(each["weights"], alone["weights"])
                self.assert_close(each["accuracies"], alone["accuracies"], 1e-9)
                self.assertTrue(each["never"])
            if "max_local" not in asked:
                self.assertEqual(sorted(seen(ended)), [(epoch, i) for epoch in range(2) for i in range(100)])

    def test_a_model_is_handed_out_whole(self):
        path = Path(self.folder(), "models", "net.pt")
        ended = self.train(2, publish=str(path), chance=True)
        first = results(ended)[0]
        told = [json.loads(line)["paceline"] for line in ended[0][1].splitlines() if line.startswith('{"paceline": {"model"')]
        self.assertEqual([(each["model"], each["step"], each["samples"]) for each in told], [(str(path), 4, 100), (str(path), 8, 200)])
        self.assertEqual((told[1]["bytes"], told[1]["sha256"]),
                         (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()))
        self.assertEqual(os.listdir(path.parent), ["net.pt"])
        for _, output in ended:
            self.assertEqual(output.count(f"published {path}"), 2)
        loaded = torch.load(path)
        self.assertIn("norm.running_mean", loaded, "averaged over ranks")
        weights = [value for name in ("one", "two") for kind in ("weight", "bias")
                   for value in loaded[f"{name}.{kind}"].flatten().tolist()]
        self.assert_close(weights, first["weights"][:len(weights)])

    def test_a_model_that_can_not_be_written_is_one_sentence_on_all_ranks(self):
        path = Path(self.folder(), "file")
        path.touch()
        for code, output in self.train(2, publish=str(path / "net.pt")):
            self.assertEqual(code, 1)
            self.assertIn(f"The model can't be written to {path}/net.pt: ", output)
            self.assertIn("Choose another path", output)

    def test_a_loaders_workers_are_no_business_of_the_others(self):
        for rank, (code, output) in enumerate(self.train(3, loader_workers=2, die_at=2)):
            if rank < 2:
                self.assertEqual(code, 1, output)
                self.assertIn("Rank 2 is gone", output)
        folder = self.folder()
        ended = self.train(2, loader_workers=2, folder=folder, notice_at=2)
        self.assertEqual([code for code, _ in ended], [75, 75])
        ended += self.train(1, loader_workers=1, folder=folder)
        self.assertEqual(sorted(seen(ended)), [(epoch, i) for epoch in range(2) for i in range(100)])

    def test_a_batch_that_scales_is_a_larger_one_with_larger_rates(self):
        for ranks, rule, factor in support.variants((3, "sqrt", 3 ** 0.5), (2, "linear", 2.0)):
            ended = self.train(ranks, batch=10, scale=rule)
            alone, = results(self.train(1, batch=10 * ranks, rate=0.1 * factor))
            for each in results(ended):
                self.assert_close(each["weights"], alone["weights"])
                self.assertNotEqual(each["rate"], alone["rate"], "the script's own rate stays what it is")
            self.assertEqual(sorted(seen(ended)), [(epoch, i) for epoch in range(2) for i in range(100)])
            self.assertIn(f"{ranks} ranks: a global batch of {10 * ranks} samples, learning rates times {factor:.4g} "
                          f"({rule}).", "".join(output for _, output in ended))

    def test_a_batch_that_scales_goes_on_with_other_ranks(self):
        folder = self.folder()
        ended = self.train(3, batch=7, scale="noise", folder=folder, notice_at=2)
        self.assertEqual([code for code, _ in ended], [75, 75, 75])
        ended += self.train(2, batch=7, scale="noise", folder=folder, epochs=8)
        self.assertEqual(sorted(seen(ended)), [(epoch, i) for epoch in range(8) for i in range(100)])
        said = "".join(output for _, output in ended)
        self.assertIn("3 ranks: a global batch of 21 samples", said)
        self.assertIn("2 ranks: a global batch of 14 samples", said)

    def test_exact_is_exact_on_any_number_of_ranks_and_through_resizes(self):
        asked = {"micro": 7, "exact": True, "chance": True}
        alone, = results(self.train(1, **asked))
        for size, further in support.variants((3, {"loader_workers": 1}), (2, {"order": "zero last"}), (6, {})):
            for each in results(self.train(size, **asked, **further)):
                self.assertEqual(each["bits"], alone["bits"], f"{size} ranks")
        folder = self.folder()
        self.assertEqual({code for code, _ in self.train(3, folder=folder, notice_at=4, **asked)}, {75})
        self.assertEqual({code for code, _ in self.train(1, folder=folder, notice_at=9, **asked)}, {75})
        for each in results(self.train(4, folder=folder, **asked)):
            self.assertEqual(each["bits"], alone["bits"])

    def test_micro_batches_alone_are_exact_to_within_rounding(self):
        alone, = results(self.train(1, micro=8))
        for each in results(self.train(3, micro=8)):
            self.assert_close(each["weights"], alone["weights"])

    def test_under_torchrun(self):
        alone, = results(self.train(1))
        done = subprocess.run(
            [support.PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-r", "1", "-t", "1",
             "--log_dir", self.folder(), str(SCRIPT), "{}"], capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONPATH": str(support.PACKAGE), "OMP_NUM_THREADS": "1"})
        found = re.findall(r"result (\{.*\})$", done.stdout, re.M)
        self.assertEqual((done.returncode, len(found)), (0, 2), done.stdout[-3000:] + done.stderr[-3000:])
        for each in found:
            self.assert_close(json.loads(each)["weights"], alone["weights"])

    def test_clipping_sees_the_mean_over_all_ranks(self):
        alone, = results(self.train(1, clip=0.05))
        for each in results(self.train(2, clip=0.05)):
            self.assert_close(each["weights"], alone["weights"])

    def test_clipping_between_pieces_clips_nothing(self):
        alone, = results(self.train(1, clip=0.05))
        for size, asked in ((1, {"max_local": 7}), (2, {"max_local": 4}), (2, {"micro": 5}), (2, {"micro": 5, "exact": True})):
            for each in results(self.train(size, clip=0.05, **asked)):
                self.assert_close(each["weights"], alone["weights"])

    def test_a_scaler_acts_once_per_global_batch(self):
        for clip in (None, 0.05):
            alone, = results(self.train(1, clip=clip))
            for size, asked in ((1, {}), (1, {"max_local": 7}), (3, {"max_local": 4}), (2, {"micro": 5, "exact": True})):
                for each in results(self.train(size, clip=clip, scaler=True, **asked)):
                    self.assert_close(each["weights"], alone["weights"])
                    self.assertEqual(*each["updates"])

    def test_more_ranks_than_samples_of_a_batch(self):
        alone, = results(self.train(1, batch=3, samples=10))
        for each in results(self.train(4, batch=3, samples=10)):
            self.assert_close(each["weights"], alone["weights"])

    def test_what_comes_out_of_a_piece_that_counts_nothing_is_left_out(self):
        alone, = results(self.train(1, weights=True, batch=6))
        for size, asked in ((2, {}), (2, {"max_local": 1}), (1, {"max_local": 1}), (2, {"micro": 1, "exact": True})):
            for each in results(self.train(size, weights="unclamped", batch=6, **asked)):
                self.assert_close(each["weights"], alone["weights"])

    def test_what_pieces_count_may_be_said(self):
        for exact in ({}, {"micro": 5, "exact": True}):
            alone, = results(self.train(1, weights=True, **exact))
            for size, asked in support.variants((3, {} if exact else {"max_local": 4}), (2, {}), (4, {"batch": 3, "samples": 10})):
                expected = alone["weights"] if "batch" not in asked else results(
                    self.train(1, weights=True, **exact, **asked))[0]["weights"]
                for each in results(self.train(size, weights=True, **exact, **asked)):
                    self.assert_close(each["weights"], expected)

    def test_tensors_are_taken_by_the_batch(self):
        alone, = results(self.train(1))
        for each in results(self.train(2, tensors=True)):
            self.assert_close(each["weights"], alone["weights"])

    def test_parameters_that_some_ranks_do_not_use(self):
        for each in results(self.train(2, unused=True)):
            self.assertTrue(each["never"])

    def test_a_notice_and_a_start_with_other_ranks_lose_and_repeat_nothing(self):
        alone, = results(self.train(1))
        folder, ended = self.folder(), []
        for generation, (size, notice_at) in enumerate(((3, 2), (1, 3), (2, None)), 1):
            last = self.train(size, generation, folder=folder, notice_at=notice_at)
            self.assertEqual({code for code, _ in last}, {0 if notice_at is None else 75}, last)
            ended += last
        self.assertEqual(sorted(seen(ended)), [(epoch, i) for epoch in range(2) for i in range(100)])
        self.assertIn("Going on from", last[0][1])
        for each in results(last):
            self.assert_close(each["weights"], alone["weights"])
            self.assertEqual(each["rate"], alone["rate"])
        self.assertEqual(len(os.listdir(folder)), 2, "the newest two are kept")

    def test_a_checkpoint_is_acknowledged_by_a_line(self):
        _, output = self.train(1, folder=self.folder(), every=0.0)[0]
        lines = [json.loads(line)["paceline"] for line in output.splitlines() if line.startswith('{"paceline"')]
        acknowledged = [each for each in lines if "checkpoint" in each]
        self.assertTrue(acknowledged)
        self.assertTrue(all(Path(each["checkpoint"]).is_absolute() for each in acknowledged))
        self.assertEqual(acknowledged[-1]["samples"], 200)
        self.assertEqual(acknowledged[-1]["step"], 8)
        self.assertTrue([each for each in lines if "accuracy" in each and each["step"] in (4, 8)])

    def test_without_a_folder_a_notice_ends_as_the_signal_does(self):
        self.assertEqual([code for code, _ in self.train(2, notice_at=2)], [143, 143])

    # ---- what goes wrong is one sentence on every rank ----

    def ends_with(self, words, size=2, ranks=None, **asked):
        for rank, (code, output) in enumerate(self.train(size, **asked)):
            if ranks is None or rank in ranks:
                self.assertEqual(code, 1, output[-3000:])
                self.assertRegex(output, words)

    def test_a_rank_that_dies(self):
        self.ends_with(r"Rank 2 is gone", 3, ranks=(0, 1), die_at=2)

    def test_different_models(self):
        self.ends_with(r"The ranks built different models: rank 0 has one.bias \(8 float32\), rank 1 has one.bias "
                       r"\(9 float32\) in its place", different_model=True)

    def test_different_data(self):
        self.ends_with(r"The ranks have different data: rank 0 has 100 samples in global batches of 30 \(seed=3, shuffle=True, "
                       r"drop_last=False\), rank 1 has 99 samples", different_data=True)

    def test_different_learning_rates(self):
        self.ends_with(r"different learning rates \(0\.1 and 0\.5\): pass the scheduler", scheduler=False,
                       different_rate=True)

    def test_a_model_that_is_wrapped(self):
        self.ends_with("not one wrapped in DataParallel", 1, wrapped=True)

    def test_a_batch_that_scales_with_what_can_not_be_scaled(self):
        self.ends_with("batch='scale' can't be exact", 1, micro=30, exact=True, scale="linear")
        self.ends_with("rule='cubic' is none of linear, sqrt, noise", 1, scale="cubic")

    def test_a_weight_that_only_some_ranks_say(self):
        self.ends_with("Every rank must make the same calls", 2, weights="on rank 0")

    def test_a_rank_that_ends_alone(self):
        self.ends_with("Rank 1 takes a checkpoint where rank 0 begins an epoch. .* decide by what all know", 2, parts=True,
                       folder=self.folder())

    def test_two_backwards(self):
        for size in 1, 2:
            self.ends_with(r"backward\(\) ran again", size, twice=True)
        self.ends_with(r"backward\(\) ran again", 2, twice=True, micro=30, exact=True)
        self.ends_with(r"exact=True needs micro=", 1, exact=True)

    def test_a_step_that_is_not_called(self):
        self.ends_with(r"job\.step\(\) was not called", 2, skip_step=True)
        self.ends_with(r"job\.step\(\) was not called for the last batch: call it once for each", 3,
                       skip_step="on the last rank", timeout_s=600)

    def test_an_exception_on_one_rank(self):
        self.ends_with("LookupError: of the script's own$", 3, fails=True, timeout_s=600)

    def test_a_scheduler_that_is_not_carried(self):
        for forgotten in ("the scheduler", "a later scheduler"):
            self.ends_with(r"A scheduler of the SGD was not passed to job\.distribute\(\)", forgets=forgotten)

    def test_checkpoints_of_another_model(self):
        folder = self.folder()
        self.assertEqual(self.train(1, folder=folder, notice_at=2)[0][0], 75)
        self.ends_with("is of another model: size mismatch for two.weight", folder=folder, width=9)
        self.ends_with("is of another model: with it were carried SGD, ExponentialLR, now it is Adam, ExponentialLR",
                       folder=folder, adam=True)
        self.ends_with("holds 1 models and 2 carried with them, this training has 1 and 1", folder=folder,
                       forgets="the scheduler")

    def test_a_checkpoint_that_is_larger_than_memory(self):
        folder = self.folder()
        self.assertEqual(self.train(1, folder=folder, notice_at=2, width=1_000_000)[0][0], 75)
        for rank in 0, 1:
            self.ends_with(f"Rank {rank} has too little memory .*Give each worker more", folder=folder, width=1_000_000,
                           memory=[rank, 30], timeout_s=600)  # MB, of 72 that have to be read
        self.assertEqual(len(list(Path(folder).glob("*.pt"))), 2)

    def test_checkpoints_of_something_else(self):
        folder = self.folder()
        self.assertEqual(self.train(1, folder=folder, notice_at=2)[0][0], 75)
        self.ends_with("length of the data was 100, now it is 99", folder=folder, samples=99)
        newest = max(Path(folder).glob("*.pt"), key=lambda path: path.stat().st_mtime_ns)
        whole = newest.read_bytes()
        for size in support.variants(len(whole) // 2, 0, len(whole) - 1):
            newest.write_bytes(whole[:size])
            self.ends_with("no complete checkpoint. Remove it", folder=folder)
        self.ends_with("Checkpoints can't be written to /proc/here", folder="/proc/here")


if __name__ == "__main__":
    unittest.main()
