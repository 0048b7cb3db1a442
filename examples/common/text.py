"""Text as windows of characters for a language model."""

import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import TensorDataset

from common.errors import UserError

LICENSES = "/usr/share/common-licenses"
MAX_BYTES = 64 << 20
MAX_CHARACTERS = 256  # distinct ones; rarer ones share the last code
STRETCH = 16  # windows in a row that are held out together
EVERY = 10  # one stretch in so many is held out


class Text:
    """Codes uint8 [n, window + 1]: what is read, and one further the character to be guessed."""

    def __init__(self, windows):
        self.windows = windows

    def __len__(self):
        return len(self.windows)

    def read(self, indices):
        """Returns int64 [n, window]."""
        return torch.from_numpy(self.windows[indices, :-1]).long()

    def expected(self, indices):
        """Returns int64 [n, window]: for each character read the one that follows."""
        return torch.from_numpy(self.windows[indices, 1:]).long()

    def tensors(self, indices=slice(None)):
        """As a dataset: codes uint8 [window + 1]."""
        return TensorDataset(torch.from_numpy(self.windows[indices]))

    def data_id(self):
        return zlib.crc32(np.ascontiguousarray(self.windows))


def load_text(data, window):
    """Returns (training text, held-out text, number of distinct characters).

    `data` is a text file or a folder of them, by default Debian's licences. Raises UserError.
    """
    codes, characters = _encode(_read(Path(data or LICENSES)))
    starts = np.arange(0, len(codes) - window, window)
    held_out = np.arange(len(starts)) // STRETCH % EVERY == EVERY - 1
    if not held_out.any():
        need = window * STRETCH * EVERY
        raise UserError(f"{data or LICENSES} has {len(codes)} characters; give --data at least "
                        f"{need}")
    windows = codes[starts[:, None] + np.arange(window + 1)]
    return Text(windows[~held_out]), Text(windows[held_out]), characters


def _read(path):
    files = [path]
    if path.is_dir():
        files = sorted({file.resolve() for file in path.rglob("*") if file.is_file()})
    texts, size = [], 0
    for file in files:
        try:
            body = file.read_bytes() if file.stat().st_size <= MAX_BYTES - size else None
        except OSError as error:
            raise UserError(f"can't read {file}: {error.strerror}; give --data a text file or a "
                            "folder of them") from error
        if body is None:
            raise UserError(f"{path} is larger than {MAX_BYTES >> 20} MiB; give --data a part of "
                            "it")
        if b"\0" not in body:
            texts.append(body.decode("utf-8", "replace"))
            size += len(body)
        elif file is path:
            raise UserError(f"{path} is no text file; give --data a text file or a folder of them")
    return "\n".join(texts)


def _encode(text):
    """Returns (uint8 codes, number of codes); frequent characters get low codes."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    counts = np.bincount(points)
    by_count = np.argsort(-counts, kind="stable")
    characters = min(MAX_CHARACTERS, np.count_nonzero(counts))
    code_of = np.full(len(counts), max(0, characters - 1), np.uint8)
    code_of[by_count[:characters]] = np.arange(characters)
    return code_of[points], characters
