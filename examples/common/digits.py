"""Images of digits: MNIST-style IDX files, or drawn with this machine's fonts, once, and kept."""

import fcntl
import hashlib
import os
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import TensorDataset

from common.errors import UserError
from common.idx import read_idx, write_idx

TRAIN_COUNT = 60_000
TEST_COUNT = 10_000
TRAIN_PREFIX = "train"
TEST_PREFIX = "t10k"


class DigitSet:
    """uint8 `images` [n, 28, 28] and `labels` [n], often on disk; hands out tensors by index."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def pixels(self, indices):
        """Returns float32 [n, 1, 28, 28], 0..1."""
        return torch.from_numpy(self.images[indices]).float().div_(255).unsqueeze(1)

    def classes(self, indices):
        """Returns int64 [n], 0..9."""
        return torch.from_numpy(self.labels[indices]).long()

    def tensors(self, indices=slice(None)):
        """As a dataset: uint8 [28, 28], and a class."""
        return TensorDataset(torch.from_numpy(self.images[indices]), torch.from_numpy(self.labels[indices]).long())

    def data_id(self):
        return zlib.crc32(self.labels)


def load_digits(data=None, cache=None):
    """Returns (training set, held-out set) from the folder `data`, else drawn ones."""
    folder = Path(data) if data else made_digits(cache)
    return _read_part(folder, TRAIN_PREFIX), _read_part(folder, TEST_PREFIX)


def made_digits(cache=None, train_count=TRAIN_COUNT, test_count=TEST_COUNT):
    """Returns the folder with the drawn digits as IDX files; draws them where they are missing.

    Several processes may call it at once: one draws, the others wait for it.
    """
    from common.glyphs import find_fonts

    fonts = find_fonts()
    folder = _cache_folder(cache) / f"digits-{_key(fonts, train_count, test_count)}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _make(folder, fonts, train_count, test_count)
    except OSError as error:
        raise UserError(f"can't keep the drawn digits in {folder.parent}: {error.strerror}; make "
                        "room there or choose another folder with --cache") from error
    return folder


def _make(folder, fonts, train_count, test_count):
    from common.glyphs import draw_glyphs, make_images

    print(f"Drawing {train_count + test_count} digits, once, into {folder}", file=sys.stderr,
          flush=True)
    unfinished = folder.with_suffix(".unfinished")  # ours alone: we hold the lock
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    glyphs = draw_glyphs(fonts)
    counts = {TRAIN_PREFIX: train_count, TEST_PREFIX: test_count}
    for seed, (prefix, count) in enumerate(counts.items()):
        images, labels = make_images(glyphs, count, seed)
        write_idx(unfinished / f"{prefix}-images-idx3-ubyte", images)
        write_idx(unfinished / f"{prefix}-labels-idx1-ubyte", labels)
    os.rename(unfinished, folder)


def _key(fonts, train_count, test_count):
    """Other fonts, counts or drawing code: other images, another folder."""
    code = Path(__file__).with_name("glyphs.py").read_bytes()
    facts = [(str(path), path.stat().st_size) for path in fonts]
    return hashlib.sha256(code + repr((train_count, test_count, facts)).encode()).hexdigest()[:12]


def _cache_folder(cache):
    if cache:
        return Path(cache)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paceline"


def _read_part(folder, prefix):
    images_path = _find(folder, f"{prefix}-images", "idx3-ubyte")
    labels_path = _find(folder, f"{prefix}-labels", "idx1-ubyte")
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if len(images) != len(labels):
        raise UserError(f"{images_path} has {len(images)} images but {labels_path} has "
                        f"{len(labels)} labels; give --data a folder where they belong together")
    if images.shape[1:] != (28, 28):
        height, width = images.shape[1:]
        raise UserError(f"{images_path} has images of {height} x {width}; 28 x 28 is needed")
    if labels.max() > 9:
        raise UserError(f"{labels_path} has the label {labels.max()}; digits have 0 to 9")
    return DigitSet(images, np.ascontiguousarray(labels))


def _find(folder, stem, kind):
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder; give --data a folder with MNIST-style IDX files")
    for name in (f"{stem}-{kind}", f"{stem}.{kind}"):
        for path in (folder / name, folder / f"{name}.gz"):
            if path.exists():
                return path
    raise UserError(f"{folder} has no {stem}-{kind} or {stem}-{kind}.gz; give --data a folder with "
                    "all four MNIST-style IDX files")
