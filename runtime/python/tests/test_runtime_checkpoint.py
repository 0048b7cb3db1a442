"""Checkpoints as files: what torch.load() reads is what was given, as it was then."""

import io
import os
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import support

if support.HAS_TORCH:
    import torch
    from paceline.checkpoint import Folder
    from paceline.errors import PacelineError


@support.has_torch
class CheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-checkpoint-")
        self.addCleanup(folder.cleanup)
        self.folder = Folder(folder.name)

    def written(self, number, values, folder=None):
        folder = folder or self.folder
        folder.begin(number, values, number)
        folder.join()
        (mark, path, why), = folder.written()
        self.assertEqual((mark, why), (number, None))
        return path

    def test_what_is_loaded_is_what_was_given(self):
        one = torch.arange(6.0).reshape(2, 3)
        values = {"one": one, "more": [one, one.t(), torch.ones(3).bfloat16(), torch.empty(0), torch.tensor(True)],
                  "trained": torch.nn.Parameter(torch.ones(2)), "text": "text", "numbers": (1, 2.5)}
        path = self.written(1, values)
        found = torch.load(path)
        self.assertIsNone(zipfile.ZipFile(path).testzip())
        self.assertEqual((found["text"], found["numbers"]), ("text", (1, 2.5)))
        for before, after in zip([one, values["trained"], *values["more"]], [found["one"], found["trained"], *found["more"]]):
            self.assertEqual((before.dtype, before.requires_grad), (after.dtype, after.requires_grad))
            self.assertTrue(torch.equal(before, after))

    def test_what_changes_meanwhile_is_as_it_was(self):
        tensor, counts = torch.zeros(1 << 20), {"steps": [0]}
        for number in range(3):
            self.folder.begin(number, {"tensor": tensor, "counts": counts}, number)
            tensor += 1
            counts["steps"][0] += 1
            self.folder.join()
            (_, path, _), = self.folder.written()
            found = torch.load(path)
            self.assertTrue(torch.equal(found["tensor"], torch.full_like(tensor, number)))
            self.assertEqual(found["counts"], {"steps": [number]})

    def test_what_can_not_be_written_leaves_the_older_ones(self):
        path = self.written(1, {"tensor": torch.ones(2)})
        self.folder.begin(2, {"function": lambda: None}, 2)
        self.folder.join()
        (mark, newer, why), = self.folder.written()
        self.assertEqual((mark, newer), (2, None))
        self.assertIn("pickle", why)
        self.assertEqual(sorted(self.folder.path.iterdir()), [path])

    def written_by(self, folder, *numbers):
        """Each is written there, and nobody is told of it."""
        for number in numbers:
            folder.begin(number, {"number": number}, number)
            folder.join()

    def numbers(self):
        return sorted(int(path.name[5:-3]) for path in self.folder.path.glob("ckpt-*.pt"))

    def path_of(self, number):
        return self.folder.path / f"ckpt-{number:012d}.pt"

    def test_the_newest_two_are_kept(self):
        for number in range(5):
            self.written(number, {})
        self.assertEqual(self.numbers(), [3, 4])

    def test_what_was_told_of_stays_until_a_newer_one_is(self):
        """A training dies twice after it has written one, and before it tells of it."""
        for number in (10, 20):
            self.written(number, {})
        self.written_by(self.folder, 30)
        self.assertEqual(self.numbers(), [20, 30])
        for number in (40, 50):
            again = Folder(self.folder.path)
            with mock.patch.dict(os.environ, {"PACELINE_CHECKPOINT": str(self.path_of(20))}):
                self.assertEqual(again.newest()[1], self.path_of(20))
            self.written_by(again, number)
            self.assertIn(20, self.numbers())
        list(again.written())
        self.written_by(again, 60)
        self.assertEqual(self.numbers(), [50, 60])

    def test_what_another_rank_told_of_stays(self):
        """One that takes over the writing doesn't know of what."""
        for number in (10, 20, 30):
            self.written(number, {})
        another = Folder(self.folder.path)
        self.written_by(another, 40, 50)
        self.assertEqual(self.numbers(), [20, 30, 40, 50])
        list(another.written())
        self.written_by(another, 60)
        self.assertEqual(self.numbers(), [50, 60])
        self.written_by(self.folder, 70, 80)
        self.assertEqual(self.numbers(), [50, 60, 70, 80], "what it told of is gone")

    def test_two_that_are_told_of_at_once(self):
        self.written(10, {})
        self.written_by(self.folder, 20, 30)
        self.assertEqual(self.numbers(), [10, 20, 30])
        list(self.folder.written())
        self.written_by(self.folder, 40)
        self.assertEqual(self.numbers(), [30, 40])

    def test_what_paceline_knows_of_stays_while_it_is_told_of_a_newer_one(self):
        """It may hear of that late: the next start is given the older one."""
        self.written(20, {})
        self.written_by(self.folder, 30)
        again = Folder(self.folder.path)
        self.given(again, 20)
        self.written(40, {}, again)
        self.assertEqual(self.numbers(), [20, 30, 40])
        self.assertEqual(self.given(Folder(self.folder.path), 20), self.path_of(20))

    def given(self, folder, number):
        """The path of what a start goes on from that is given this one."""
        with mock.patch.dict(os.environ, {"PACELINE_CHECKPOINT": str(self.path_of(number))}):
            return folder.newest()[1]

    def test_one_that_made_room_for_newer_ones(self):
        """A machine that had lost its server wrote those, and nobody was told."""
        for number in (30, 40):
            self.written(number, {})
        with mock.patch("sys.stderr", io.StringIO()) as said:
            self.assertEqual(self.given(self.folder, 20), self.path_of(40))
        self.assertRegex(said.getvalue(), r"^paceline: The checkpoint \S+020\.pt is gone, .*: ckpt-000000000040\.pt is the newest\.\n$")
        elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(elsewhere.cleanup)
        for path in (Path(elsewhere.name, "ckpt-000000000020.pt"), self.folder.path / "other.pt"):
            with self.subTest(path=path), mock.patch.dict(os.environ, {"PACELINE_CHECKPOINT": str(path)}):
                with self.assertRaisesRegex(PacelineError, "can't be read: No such file"):
                    self.folder.newest()
        for each in self.folder.path.iterdir():
            each.unlink()
        with self.assertRaisesRegex(PacelineError, "can't be read: No such file"):
            self.given(self.folder, 20)

    def test_a_clock_that_goes_back(self):
        for number in (10, 20):
            path = self.written(number, {})
            later = time.time() + 3600
            os.utime(path, (later, later))
        again = Folder(self.folder.path)
        again.newest()
        for number in (30, 40, 50):
            again.begin(number, {}, number)
            again.join()
            self.assertEqual(again.newest()[1], self.path_of(number))
            list(again.written())
        self.assertEqual(self.numbers(), [40, 50])

    def test_what_a_killed_rank_left_unfinished_is_removed(self):
        for number in (10, 20):
            (self.folder.path / f".ckpt-{number:012d}.pt.unfinished").write_bytes(b"half of it")
        path = self.written(30, {})
        self.assertEqual(list(self.folder.path.iterdir()), [path])

    def test_want_of_memory_is_no_fault_of_the_file(self):
        path = self.written(1, {"tensor": torch.ones(2)})
        for want in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
                     torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")):
            with self.subTest(want=want), mock.patch("paceline.state.unpacked", side_effect=want):
                with self.assertRaises(type(want)):
                    self.folder.read(path.read_bytes(), path)
        with self.assertRaisesRegex(PacelineError, "is no complete checkpoint"):
            self.folder.read(path.read_bytes()[:-30], path)


if __name__ == "__main__":
    unittest.main()
