"""Real gangs of real processes: interrupted, resized, stopped, robbed of a worker."""

import signal
import socket
import tempfile
import unittest
from pathlib import Path

from support import HAS_TORCH, TINY, Gang, make_tiny_digits, needs_torch

if HAS_TORCH:
    import torch

SCRIPT = "digits/train_plain.py"
EPOCHS = 2
LAST_STEP = 40  # 640 samples, 2 epochs, 32 per step


@needs_torch
class Elastic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.data.cleanup)
        make_tiny_digits(cls.data.name)
        cls.uninterrupted = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.uninterrupted.cleanup)
        with cls.start(1, cls.uninterrupted.name) as gang:
            assert gang.finish() == [0], gang.errors()
            cls.expected = gang.losses()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @classmethod
    def start(cls, size, checkpoints, *arguments, **environment):
        return Gang(size, SCRIPT, *TINY, "--data", cls.data.name, "--epochs", EPOCHS,
                    "--checkpoint-dir", checkpoints, *arguments, **environment)

    def interrupt(self, size, step, ranks):
        """Runs a gang to `step`, gives the workers `ranks` notice and waits for its end."""
        with self.start(size, self.folder) as gang:
            gang.read_until(step)
            for rank in ranks:
                gang.workers[rank].send_signal(signal.SIGTERM)
            self.assertEqual(gang.finish(), [75] * size, gang.errors())
            self.assertEqual(gang.checkpoints()[-1]["samples"], gang.reports[-1]["samples"])
            return gang

    def resume(self, size):
        with self.start(size, self.folder) as gang:
            self.assertEqual(gang.finish(), [0] * size, gang.errors())
            return gang

    def assert_near_expected(self, losses):
        self.assertEqual(sorted(losses), sorted(self.expected))
        for step, loss in self.expected.items():
            self.assertAlmostEqual(losses[step], loss, delta=0.01 * loss, msg=f"step {step}")

    def weights(self, folder):
        newest = max(Path(folder).glob("ckpt-*.pt"))
        state = torch.load(newest)
        self.assertEqual(state["samples"], EPOCHS * 640)
        return state["model"]

    def test_an_interrupted_training_gives_the_same_curve_and_weights_bit_for_bit(self):
        before = self.interrupt(1, step=7, ranks=[0])
        after = self.resume(1)
        self.assertEqual(min(after.losses()), max(before.losses()) + 1)
        self.assertEqual({**before.losses(), **after.losses()}, self.expected)
        expected = self.weights(self.uninterrupted.name)
        for name, weight in self.weights(self.folder).items():
            self.assertTrue(torch.equal(weight, expected[name]), name)

    def test_from_two_workers_to_one_it_goes_on_at_the_same_sample(self):
        before = self.interrupt(2, step=9, ranks=[1])  # one alone is told; both stop
        after = self.resume(1)
        first = after.reports[0]
        self.assertEqual(first["samples"], before.checkpoints()[-1]["samples"] + 32)
        self.assert_near_expected({**before.losses(), **after.losses()})

    def test_three_workers_share_an_uneven_batch_rightly(self):
        gang = self.resume(3)  # 32 samples: 10, 11 and 11
        self.assert_near_expected(gang.losses())

    def test_a_lost_peer_ends_the_others_soon(self):
        with self.start(2, self.folder, "--epochs", 1000) as gang:
            gang.read_until(3)
            gang.workers[1].kill()
            self.assertEqual(gang.finish(), [1, -signal.SIGKILL])
            self.assertIn("lost a peer", gang.errors())

    def test_a_peer_that_hangs_ends_the_others_after_their_patience(self):
        with self.start(2, self.folder, "--epochs", 1000, "--patience", 8) as gang:
            gang.read_until(3)
            gang.workers[1].send_signal(signal.SIGSTOP)
            while gang.next_report() is not None:
                pass
            self.assertEqual(gang.workers[0].wait(), 1)
            self.assertIn("No progress for 8 s", gang.errors())

    def test_notice_before_the_training_ends_at_once_with_75(self):
        with self.start(2, self.folder) as gang:
            gang.workers[1].kill()  # so that worker 0 waits for it for ever
            _wait_until_open(gang.port, gang.workers[0])
            gang.workers[0].send_signal(signal.SIGTERM)
            self.assertEqual(gang.workers[0].wait(), 75)

    def test_the_newest_two_checkpoints_are_kept_and_a_named_one_is_gone_on_from_while_it_is_there(self):
        with self.start(1, self.folder, "--checkpoint-every", 0) as gang:
            self.assertEqual(gang.finish(), [0])
            names = [Path(report["checkpoint"]).name for report in gang.checkpoints()]
        self.assertEqual(len(names), LAST_STEP)
        self.assertEqual(sorted(path.name for path in Path(self.folder).iterdir()), names[-2:])
        named = str(Path(self.folder) / names[-2])
        with self.start(1, self.folder, PACELINE_CHECKPOINT=named) as gang:
            self.assertEqual(gang.finish(), [0])
            self.assertEqual(gang.losses(), {LAST_STEP: self.expected[LAST_STEP]})
        (Path(self.folder) / names[-1]).unlink()
        gone = str(Path(self.folder) / names[0])
        with self.start(1, self.folder, PACELINE_CHECKPOINT=gone) as gang:
            self.assertEqual(gang.finish(), [0])
            self.assertEqual(gang.losses(), {LAST_STEP: self.expected[LAST_STEP]}, "it made room for newer ones")

    def test_another_batch_than_the_checkpoints_is_refused(self):
        with self.start(1, self.uninterrupted.name, "--batch", 16) as gang:
            self.assertEqual(gang.finish(), [2])
            self.assertRegex(gang.errors(), "was trained with batch 32, now it is 16")


@needs_torch
class BadInput(unittest.TestCase):
    def refuse(self, script, words, *arguments, **environment):
        with Gang(1, script, *arguments, **environment) as gang:
            self.assertEqual(gang.finish(), [2], gang.errors())
            self.assertEqual(gang.reports, [])
            self.assertRegex(gang.errors(), words)
            self.assertEqual(gang.errors().count("\n"), 1, gang.errors())

    def test_each_is_one_sentence_and_code_2(self):
        with tempfile.TemporaryDirectory() as folder:
            torn = Path(folder) / "torn.pt"
            torn.write_bytes(b"PK\3\4")
            self.refuse("digits/train_plain.py", "has no train-images-idx3-ubyte", "--data", folder)
            self.refuse("vae/train_plain.py", "'none' is not a whole number from 1", "--batch", "none")
            self.refuse("text/train_plain.py", "RANK=0 does not fit WORLD_SIZE=-1", WORLD_SIZE="-1")
            self.refuse("text/train_plain.py", "no complete checkpoint", PACELINE_CHECKPOINT=str(torn))
            self.refuse("text/train_plain.py", "can't read the checkpoint", "--checkpoint-dir", Path(folder) / "own",
                        PACELINE_CHECKPOINT=str(Path(folder) / "ckpt-1.pt"))
            self.refuse("text/train_plain.py", "can't write checkpoints", "--checkpoint-dir", torn / "x")


def _wait_until_open(port, worker):
    while worker.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            continue


if __name__ == "__main__":
    unittest.main()
