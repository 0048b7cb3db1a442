import tempfile
import unittest
from pathlib import Path

from support import HAS_TORCH, needs_torch

if HAS_TORCH:
    import numpy as np
    from common.errors import UserError
    from common.text import MAX_BYTES, load_text


WINDOW = 8
LINE = "The quick brown fox jumps over the lazy dog, again and again.\n"


@needs_torch
class TextFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "a.txt"
        self.file.write_text(LINE * 100)

    def test_what_is_expected_is_the_next_character(self):
        train, _, characters = load_text(self.file, WINDOW)
        indices = np.array([0, 1])
        read, expected = train.read(indices), train.expected(indices)
        self.assertEqual(read[0, 1:].tolist(), expected[0, :-1].tolist())
        self.assertEqual(expected[0, -1], read[1, 0])
        self.assertEqual(characters, len(set(LINE)))

    def test_no_window_is_both_learned_and_held_out_and_none_is_lost(self):
        train, test, _ = load_text(self.file, WINDOW)
        self.assertEqual(len(train) + len(test), (len(LINE) * 100 - 1) // WINDOW)
        self.assertAlmostEqual(len(test) / (len(train) + len(test)), 0.1, delta=0.03)

    def test_a_folder_is_read_once_per_file_and_without_binaries(self):
        (self.folder / "link.txt").symlink_to(self.file)
        (self.folder / "picture").write_bytes(b"\0\1\2" * 5000)
        from_folder, from_file = (load_text(path, WINDOW)[0] for path in (self.folder, self.file))
        self.assertEqual(len(from_folder), len(from_file))

    def test_many_characters_share_the_last_code(self):
        self.file.write_text("".join(map(chr, range(0x4E00, 0x4E00 + 400))) + LINE * 100)
        train, _, characters = load_text(self.file, WINDOW)
        self.assertEqual(characters, 256)
        self.assertLessEqual(train.windows.max(), 255)

    def test_bad_data_is_refused_in_one_sentence(self):
        (self.folder / "short").write_text("too little")
        (self.folder / "empty").write_text("")
        (self.folder / "binary").write_bytes(b"\0" * 10000)
        with open(self.folder / "huge", "wb") as file:
            file.truncate(MAX_BYTES + 1)
        cases = {"short": "has 10 characters", "empty": "has 0 characters",
                 "binary": "is no text file", "huge": "larger than 64 MiB",
                 "missing": "No such file"}
        for name, words in cases.items():
            with self.subTest(name=name), self.assertRaisesRegex(UserError, words):
                load_text(self.folder / name, WINDOW)


if __name__ == "__main__":
    unittest.main()
