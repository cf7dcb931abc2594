"""From text to numbers and back: the words of a text, or the letters its words are spelt with."""

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pairlight.errors import InputError
from pairlight.files import write_text
from pairlight.text.letters import SPELLINGS
from pairlight.text.parse import unbracketed

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

PADDING, UNKNOWN = 0, 1
SPECIAL = ["[PAD]", "[UNK]"]
VIEWS = ("words", *SPELLINGS)

# Unknown words share one vector yet keep an identity of their own, so that an exact match of two is still seen.
IDENTITIES = 2**20

# Scripts written without spaces go letter by letter; numbers keep their marks; 's and its kin stand alone.
_ALONE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*"
_WORD = (
    rf"{_ALONE}|\p{{N}}+(?:[.,]\p{{N}}+)*|'(?:s|m|d|ll|re|ve)(?!\p{{L}})"
    r"|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]"
)

Progress = Callable[[float], None]

# How many chunks of texts between two spaces are remembered, and how many letters such a chunk has at most: memory has
# a bound, also where whole texts are written without spaces.
CHUNKS, LONGEST = 2**17, 20


@dataclass(frozen=True)
class Token:
    """One token and where it stands in the text as it was given."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Encoded:
    """Texts as one flat array of numbers; text t is ids[start[t]:start[t+1]]."""

    ids: NDArray[np.int32]
    start: NDArray[np.int64]
    cut: int  # how many texts were longer than the limit
    # Where the view is letters, ids point to rows of this table: the pieces of each distinct word, 0 where none. [U, P]
    spelling: NDArray[np.int32] | None = None
    # Join places of the parses that texts came with, beside their ids; -1 where a text came without. See text/parse.py.
    joins: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.start)


class Tokenizer:
    """Splits text into words and numbers them; what it knows is one `tokenizers` file."""

    def __init__(self, backend: "Backend", view: str = "words") -> None:
        if view not in VIEWS:
            raise InputError(f"There is no view named '{view}': the views are {', '.join(VIEWS)}.")
        self.backend = backend
        self.view = view
        self.places: dict[str, int] = backend.get_vocab()
        self.chunks: dict[str, list[str]] = {}

    @classmethod
    def fit(cls, texts: Iterable[str], *, view: str = "words", min_count: int = 1, most: int | None = None) -> Self:
        """Learn the vocabulary of `texts`: what occurs at least `min_count` times, the `most` frequent first."""
        empty = cls(_backend([]), view)
        return cls(_backend(empty._frequent(texts, min_count, most)), view)

    def extended(self, texts: Iterable[str], *, min_count: int = 1) -> Self:
        """A tokenizer that keeps every number given so far and adds what is new in `texts` behind them."""
        return self.with_words(self._frequent(texts, min_count, None))

    def with_words(self, words: Iterable[str]) -> Self:
        """A tokenizer that also knows these words, numbered behind all others."""
        known = self.pieces[len(SPECIAL) :]
        return type(self)(_backend([*known, *(word for word in words if word not in self.places)]), self.view)

    @property
    def vocab(self) -> int:
        """How many numbers there are, padding and unknown among them."""
        return len(self.places)

    @property
    def pieces(self) -> list[str]:
        """What each number stands for."""
        return sorted(self.places, key=self.places.__getitem__)

    def split(self, text: str) -> list[str]:
        """The words and marks of a text, in lower case."""
        words: list[str] = []
        seen = self.chunks.get
        # No word and no rule reaches over a space, and most of what stands between two spaces comes again and again.
        for chunk in text.split(" "):
            found = seen(chunk)
            words += self._chunk(chunk) if found is None else found
        return words

    def tokens(self, text: str) -> list[Token]:
        """The words of a text with their places in it."""
        spans = self.backend.encode(text, add_special_tokens=False).offsets
        return [Token(word, *span) for word, span in zip(self.split(text), spans, strict=True)]

    def encode(
        self, texts: Sequence[str], limit: int, *, parses: bool = False, progress: Progress | None = None
    ) -> Encoded:
        """Number the words of every text, up to `limit` of them; a text without any word gets one unknown word.

        With `parses`, brackets around a text are read as its parse; a text that is cut loses it.
        """
        numbers: dict[str, int] = {}
        number = self._numberer(numbers)
        flat = array("i")
        joins: dict[int, list[int]] = {}
        start = np.zeros(len(texts) + 1, np.int64)
        cut = 0
        for t, text in enumerate(texts):
            words = self.split(text) or [""]
            parsed = unbracketed(words) if parses else None
            if parsed is not None:
                words, joins[t] = parsed
            if len(words) > limit:
                cut += 1
                joins.pop(t, None)
            flat.extend(number(words[:limit]))
            start[t + 1] = len(flat)
            if progress is not None and t % 1000 == 999:
                progress((t + 1) / len(texts))
        ids = np.array(flat, np.int32)
        spelling = None if self.view == "words" else self._spelt(numbers)
        return Encoded(ids, start, cut, spelling, _beside(ids, start, joins))

    def save(self, path: Path) -> None:
        write_text(path, self.backend.to_str(pretty=False))

    @classmethod
    def load(cls, path: Path, view: str = "words") -> Self:
        from tokenizers import Tokenizer as Backend

        try:
            backend = Backend.from_str(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(
                f"{path} can't be read ({error.strerror}): a model folder holds it; save it anew."
            ) from None
        except Exception as error:  # the backend raises bare Exception for whatever is wrong with the file
            raise InputError(f"{path} is damaged ({error}): copy the model folder again or train anew.") from None
        return cls(backend, view)

    def _frequent(self, texts: Iterable[str], min_count: int, most: int | None) -> list[str]:
        count = Counter(word for text in texts for word in self.split(text))
        if self.view != "words":
            spell = SPELLINGS[self.view]
            pieces: Counter[str] = Counter()
            for word, times in count.items():
                for piece in spell(word):
                    pieces[piece] += times
            count = pieces
        ranked = sorted(count.items(), key=lambda item: (-item[1], item[0]))
        return [piece for piece, times in ranked[:most] if times >= min_count and piece not in SPECIAL]

    def _chunk(self, chunk: str) -> list[str]:
        normal = self.backend.normalizer.normalize_str(chunk)
        words = [word for word, _ in self.backend.pre_tokenizer.pre_tokenize_str(normal)]
        if len(chunk) <= LONGEST and len(self.chunks) < CHUNKS:
            self.chunks[chunk] = words
        return words

    def _numberer(self, numbers: dict[str, int]) -> Callable[[list[str]], list[int]]:
        if self.view != "words":
            return lambda words: [numbers.setdefault(word, len(numbers) + 1) for word in words]
        known, beyond = self.places.get, len(self.places)

        def identity(word: str) -> int:
            return beyond + zlib.crc32(word.encode("utf-8", "surrogatepass")) % IDENTITIES

        return lambda words: [identity(word) if (place := known(word)) is None else place for word in words]

    def _spelt(self, numbers: dict[str, int]) -> NDArray[np.int32]:
        spell, known = SPELLINGS[self.view], self.places.get
        rows = [[place for piece in spell(word) if (place := known(piece)) is not None] for word in numbers]
        table = np.zeros((len(rows) + 1, max(map(len, rows), default=1) or 1), np.int32)
        for row, places in enumerate(rows, 1):
            table[row, : len(places)] = places
        return table


def _beside(ids: NDArray[np.int32], start: NDArray[np.int64], joins: dict[int, list[int]]) -> NDArray[np.int32] | None:
    if not joins:
        return None
    flat = np.full(len(ids), -1, np.int32)
    for text, places in joins.items():
        flat[start[text] : start[text] + len(places)] = places
    return flat


def _backend(pieces: list[str]) -> "Backend":
    from tokenizers import Regex, models, normalizers, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    vocabulary = {piece: place for place, piece in enumerate([*SPECIAL, *pieces])}
    backend = Backend(models.WordLevel(vocabulary, unk_token=SPECIAL[UNKNOWN]))
    # The stubs of `tokenizers` leave these two properties read-only.
    parts: Any = backend
    parts.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    parts.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
    return backend
