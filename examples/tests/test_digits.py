import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from support import HAS_TORCH, needs_torch

if HAS_TORCH:
    import numpy as np
    from common import digits, glyphs
    from common.errors import UserError
    from common.idx import write_idx


@needs_torch
class DrawnDigits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.glyphs = glyphs.draw_glyphs(glyphs.find_fonts()[:4])

    def test_equal_seeds_give_equal_images(self):
        first, second = (glyphs.make_images(self.glyphs, 50, 7) for _ in range(2))
        for one, other in zip(first, second):
            np.testing.assert_array_equal(one, other)

    def test_other_seeds_give_other_images(self):
        first, second = (glyphs.make_images(self.glyphs, 50, seed)[0] for seed in (7, 8))
        self.assertTrue((first != second).any())

    def test_images_are_bytes_and_use_the_range(self):
        images, labels = glyphs.make_images(self.glyphs, 300, 0)
        self.assertEqual((images.shape, images.dtype), ((300, 28, 28), np.uint8))
        self.assertLess(images.min(), 20)
        self.assertGreater(images.max(), 235)
        self.assertEqual(set(labels), set(range(10)))

    def test_every_image_shows_its_digit_whole(self):
        with mock.patch.object(glyphs, "_degrade", lambda images, _: images * 255):  # no noise
            images, _ = glyphs.make_images(self.glyphs, 300, 0)
        edges = [images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]]
        self.assertLess((np.concatenate(edges, axis=1).max(1) > 128).mean(), 0.02)
        self.assertTrue((images.reshape(300, -1).max(1) > 128).all())


@needs_torch
class CachedDigits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)

    def make(self):
        return digits.made_digits(self.cache, train_count=40, test_count=20)

    def test_two_at_once_draw_once(self):
        with mock.patch.object(digits, "_make", wraps=digits._make) as draw:
            threads = [threading.Thread(target=self.make) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(draw.call_count, 1)
        train, test = digits.load_digits(self.make())
        self.assertEqual((len(train), len(test)), (40, 20))

    def test_what_a_killed_process_left_is_drawn_again(self):
        folder = self.make()
        unfinished = folder.with_suffix(".unfinished")
        folder.rename(unfinished)
        (unfinished / "train-labels-idx1-ubyte").write_bytes(b"torn")
        self.assertEqual(len(digits.load_digits(self.make())[0]), 40)
        self.assertFalse(unfinished.exists())

    def test_a_cache_that_can_not_be_written_is_one_sentence(self):
        (self.cache / "file").touch()
        with self.assertRaisesRegex(UserError, "Not a directory.*--cache"):
            digits.made_digits(self.cache / "file" / "below", 40, 20)


@needs_torch
class DataFolders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write(np.zeros((5, 28, 28)), np.zeros(5))

    def write(self, images, labels):
        for prefix in ("train", "t10k"):
            write_idx(self.folder / f"{prefix}-images-idx3-ubyte", images.astype(np.uint8))
            write_idx(self.folder / f"{prefix}-labels-idx1-ubyte", labels.astype(np.uint8))

    def assert_refused(self, words, folder=None):
        with self.assertRaisesRegex(UserError, words):
            digits.load_digits(folder or self.folder)

    def test_a_good_folder_is_read(self):
        train, test = digits.load_digits(self.folder)
        self.assertEqual(tuple(train.pixels(np.array([0, 4])).shape), (2, 1, 28, 28))
        self.assertEqual(test.classes(np.array([1])).tolist(), [0])

    def test_bad_folders_are_refused(self):
        self.assert_refused("is no folder", self.folder / "missing")
        self.write(np.zeros((5, 28, 28)), np.zeros(4))
        self.assert_refused("5 images but .* 4 labels")
        self.write(np.zeros((5, 8, 8)), np.zeros(5))
        self.assert_refused("8 x 8; 28 x 28 is needed")
        self.write(np.zeros((5, 28, 28)), np.full(5, 10))
        self.assert_refused("the label 10")
        (self.folder / "t10k-labels-idx1-ubyte").unlink()
        self.write_train_only()
        self.assert_refused("has no t10k-labels-idx1-ubyte")

    def write_train_only(self):
        write_idx(self.folder / "train-labels-idx1-ubyte", np.zeros(5, np.uint8))


if __name__ == "__main__":
    unittest.main()
