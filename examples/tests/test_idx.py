import gzip
import struct
import tempfile
import unittest
from pathlib import Path

from support import HAS_TORCH, needs_torch

if HAS_TORCH:
    import numpy as np
    from common.errors import UserError
    from common.idx import read_idx, write_idx


@needs_torch
class IdxFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "images-idx3-ubyte"
        self.array = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)

    def test_what_is_written_is_read_again_plain_and_compressed(self):
        write_idx(self.path, self.array)
        compressed = self.path.with_suffix(".gz")
        compressed.write_bytes(gzip.compress(self.path.read_bytes()))
        np.testing.assert_array_equal(read_idx(self.path, 3), self.array)
        np.testing.assert_array_equal(read_idx(compressed, 3), self.array)

    def test_the_header_is_that_of_mnist(self):
        write_idx(self.path, self.array)
        self.assertEqual(self.path.read_bytes()[:16], b"\0\0\x08\x03" + struct.pack(">3I", 2, 3, 4))

    def test_a_bad_file_is_refused_in_one_sentence(self):
        good = b"\0\0\x08\x01" + struct.pack(">I", 3) + b"abc"
        cases = {
            "is not an IDX file": b"PK\x03\x04 something else",
            "type 0x0d": b"\0\0\x0d\x01" + good[4:],
            "ends inside its header": good[:6],
            "too short": good[:-1],
            "too long": good + b"d",
            "claims the shape (0,)": b"\0\0\x08\x01" + struct.pack(">I", 0),
            "3 dimensions where 1": b"\0\0\x08\x03" + good[4:],
        }
        for words, body in cases.items():
            for name, content in (("x", body), ("x.gz", gzip.compress(body))):
                with self.subTest(words=words, name=name):
                    self.assert_refused(name, content, words)

    def test_a_torn_compressed_file_is_refused(self):
        body = gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 3000) + bytes(range(250)) * 12)
        self.assert_refused("x.gz", body[:-30], "can't read")
        self.assert_refused("x.gz", b"no gzip", "can't read")

    def test_a_size_beyond_all_bounds_is_refused_before_memory_is_taken(self):
        huge = b"\0\0\x08\x03" + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)
        self.assert_refused("x", huge, "claims the shape", dimensions=3)

    def assert_refused(self, name, content, words, dimensions=1):
        path = self.path.with_name(name)
        path.write_bytes(content)
        with self.assertRaises(UserError) as caught:
            read_idx(path, dimensions)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
