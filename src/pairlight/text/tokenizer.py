"""Splits texts into words and maps them to ids."""

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pairlight.core.progress import Progress
from pairlight.core.records import RecordError, decode_file, parse_json
from pairlight.text.checks import is_unicode
from pairlight.text.inputs import InputSpec
from pairlight.text.parse import parse_brackets

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

PADDING, UNKNOWN = 0, 1
SPECIAL = ["[PAD]", "[UNK]"]

# Out-of-vocabulary words share one vector but keep ids of their own, so that an exact match of two is still seen.
OOV_IDS = 2**20

# Scripts written without spaces are split into characters; numbers keep their separators; 's and the like are words.
_CHARACTER = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*"
_WORD = (
    rf"{_CHARACTER}|\p{{N}}+(?:[.,]\p{{N}}+)*|'(?:s|m|d|ll|re|ve)(?!\p{{L}})"
    r"|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]"
)

# The cache of split chunks (text between two spaces): how many chunks, and the longest that is cached. Both bound its
# memory, also for texts written without spaces.
MAX_CHUNKS, MAX_CHUNK_LENGTH = 2**17, 20
_CHARACTERS = 32  # read at first per word that is kept, so that the cost of a long text has a bound
_ID_BYTES = 4  # of an id, an int32


@dataclass(frozen=True)
class Token:
    """A word and its position in the original text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class OovVectors:
    """Vectors of words that are not in the vocabulary."""

    ids: NDArray[np.int64]  # [U] ascending
    vectors: NDArray[np.float32]  # [U, D]


@dataclass(frozen=True)
class TokenizedTexts:
    """Texts as one flat array of ids; text t is ids[start[t]:start[t+1]]."""

    ids: NDArray[np.int32]
    start: NDArray[np.int64]
    truncated: int  # how many texts were longer than the limit
    # For character n-grams, ids are rows of this table: the n-grams of each distinct word, 0 as padding.   [U, P]
    ngrams: NDArray[np.int32] | None = None
    # Merge positions of the texts' parse trees, aligned with ids; -1 where a text has none. See text/parse.py.
    joins: NDArray[np.int32] | None = None
    subwords: "TokenizedTexts | None" = None  # the same texts as subwords, for models with evidence
    oov: OovVectors | None = None  # for models whose vectors have one for every word

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.start)


class WordSplitter:
    """The words and punctuation marks of a text, in lower case, with a cache of what occurs often."""

    def __init__(self, backend: "Backend | None" = None) -> None:
        self.backend = backend or _backend([])
        self.chunks: dict[str, list[str]] = {}

    def split(self, text: str) -> list[str]:
        words: list[str] = []
        cached = self.chunks.get
        # No word and no rule extends over a space, and most chunks between two spaces occur many times.
        for chunk in text.split(" "):
            found = cached(chunk)
            words += self._split_chunk(chunk) if found is None else found
        return words

    def first_words(self, text: str, limit: int) -> list[str]:
        """At least the first `limit` words, and one more if there are more; the rest of a long text is not read."""
        read = _CHARACTERS * (limit + 1)
        while read < len(text):
            words = self.split(text[:read])
            # The end of what was read may be in the middle of a word, or of a character and its marks.
            if len(words) > limit + 2:
                return words[: limit + 1]
            read *= 4
        return self.split(text)

    def words(self, text: str) -> list[str]:
        """The words of a text without punctuation marks and symbols."""
        return [word for word in self.split(text) if word.isalnum() or any(map(str.isalnum, word))]

    def split_chunk(self, chunk: str) -> list[str]:
        """The words of a text without spaces; not from the cache."""
        normal = self.backend.normalizer.normalize_str(chunk)
        return [word for word, _ in self.backend.pre_tokenizer.pre_tokenize_str(normal)]

    def _split_chunk(self, chunk: str) -> list[str]:
        words = self.split_chunk(chunk)
        if len(chunk) <= MAX_CHUNK_LENGTH and len(self.chunks) < MAX_CHUNKS:
            self.chunks[chunk] = words
        return words


class Tokenizer:
    """A vocabulary for one kind of input; it is stored as a file of the `tokenizers` library."""

    def __init__(self, backend: "Backend", inputs: InputSpec) -> None:
        self.backend = backend
        self.inputs = inputs
        self.ids: dict[str, int] = backend.get_vocab()
        self.splitter = WordSplitter(backend)
        self.split = self.splitter.split
        self._chunk_ids: dict[str, bytes] = {}  # of words: the ids of chunks, bounded like the splitter's cache

    @classmethod
    def fit(cls, texts: Iterable[str], inputs: InputSpec, *, min_count: int = 1) -> Self:
        """Learn the vocabulary of `texts`: what occurs at least `min_count` times, most frequent first."""
        empty = cls(_backend([]), inputs)
        return cls(_backend(empty._frequent(texts, min_count, inputs.max_vocab)), inputs)

    def extended(self, texts: Iterable[str], *, min_count: int = 1) -> Self:
        """A tokenizer that keeps all ids and adds what is new in `texts` after them."""
        return self.with_words(self._frequent(texts, min_count, None))

    def with_words(self, words: Iterable[str]) -> Self:
        """A tokenizer that also knows these words, with ids after all others."""
        known = self.vocabulary[len(SPECIAL) :]
        return type(self)(_backend([*known, *(word for word in words if word not in self.ids)]), self.inputs)

    @property
    def vocab_size(self) -> int:
        """The number of ids, padding and unknown included."""
        return len(self.ids)

    @property
    def vocabulary(self) -> list[str]:
        """The word or n-gram of each id."""
        return sorted(self.ids, key=self.ids.__getitem__)

    def knows(self, word: str) -> bool:
        """Whether the word, or one of its character n-grams, is in the vocabulary."""
        return any(unit in self.ids for unit in self.inputs.units(word))

    def tokens(self, text: str) -> list[Token]:
        """The words of a text with their positions in it."""
        spans = self.backend.encode(text, add_special_tokens=False).offsets
        return [Token(word, *span) for word, span in zip(self.split(text), spans, strict=True)]

    def tokenize(self, texts: Sequence[str], limit: int, *, progress: Progress | None = None) -> TokenizedTexts:
        """The ids of every text's words, at most `limit` of them; a text without words gets one unknown word.

        Where the model reads parse trees, brackets around a text are its tree; a text that is truncated loses it.
        """
        if self.inputs.input_kind == "words" and not self.inputs.parse_brackets:
            return self._tokenize_words(texts, limit, progress)
        numbers: dict[str, int] = {}
        number = self._numberer(numbers)
        flat = array("i")
        joins: dict[int, list[int]] = {}
        start = np.zeros(len(texts) + 1, np.int64)
        truncated = 0
        for t, text in enumerate(texts):
            words, tree = self._words(text, limit)
            if tree is not None:
                joins[t] = tree
            if len(words) > limit:
                truncated += 1
                joins.pop(t, None)
            flat.extend(number(words[:limit]))
            start[t + 1] = len(flat)
            if progress is not None and t % 1000 == 999:
                progress((t + 1) / len(texts))
        ids = np.array(flat, np.int32)
        ngrams = None if self.inputs.input_kind == "words" else self._ngram_table(numbers)
        return TokenizedTexts(ids, start, truncated, ngrams, _aligned_joins(ids, start, joins))

    def _tokenize_words(self, texts: Sequence[str], limit: int, progress: Progress | None) -> TokenizedTexts:
        """`tokenize` for words, of which most are looked up with the ids of all words between two spaces."""
        known, parts, truncated = self._chunk_ids, [], 0
        for t, text in enumerate(texts):
            try:
                ids = (
                    b"".join([known[chunk] for chunk in text.split(" ")]) if len(text) <= _CHARACTERS * limit else None
                )
            except KeyError:
                ids = self._learn_chunks(text)
            if not ids:
                ids = self._ids(self._words(text, limit)[0])
            truncated += len(ids) > _ID_BYTES * limit
            parts.append(ids[: _ID_BYTES * limit])
            if progress is not None and t % 1000 == 999:
                progress((t + 1) / len(texts))
        start = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(each) // _ID_BYTES for each in parts], out=start[1:])
        return TokenizedTexts(np.frombuffer(bytearray().join(parts), np.int32), start, truncated)

    def _learn_chunks(self, text: str) -> bytes:
        """The ids of a text, some chunks of which are not known; they are from now on."""
        known, parts = self._chunk_ids, []
        for chunk in text.split(" "):
            ids = known.get(chunk)
            if ids is None:
                ids = self._ids(self.splitter.split_chunk(chunk))
                if len(chunk) <= MAX_CHUNK_LENGTH and len(known) < MAX_CHUNKS:
                    known[chunk] = ids
            parts.append(ids)
        return b"".join(parts)

    def _ids(self, words: list[str]) -> bytes:
        return np.array(self._numberer({})(words), np.int32).tobytes()

    def oov_words(self, texts: Iterable[str], limit: int) -> dict[int, str]:
        """The words of these texts that are not in the vocabulary, by their ids."""
        words = {word for text in texts for word in self._words(text, limit)[0][:limit] if word not in self.ids} - {""}
        number = self._numberer({})
        return dict(zip(number(sorted(words)), sorted(words), strict=True))

    def without_brackets(self, text: str) -> str:
        """The text with spaces in place of the brackets of its parse tree, where the model reads one."""
        if self._words(text, len(text))[1] is not None:
            for token in self.tokens(text):
                if token.text in ("(", ")"):
                    text = text[: token.start] + " " * (token.end - token.start) + text[token.end :]
        return text

    def to_bytes(self) -> bytes:
        return self.backend.to_str().encode("utf-8")

    @classmethod
    def from_bytes(cls, content: bytes, inputs: InputSpec, source: str) -> Self:
        """Read what `to_bytes` wrote; `source` is named in errors.

        Only the vocabulary is read: other rules in the file, such as padding to a length, could take all memory.
        """
        path, fix = Path(source), "copy the model folder again, or train again"
        found = parse_json(content, path, fix)
        model = found.get("model") if isinstance(found, dict) else None
        ids = decode_file(path, dict[str, int], model.get("vocab") if isinstance(model, dict) else None, fix)
        units = sorted(ids, key=ids.__getitem__)
        if units[: len(SPECIAL)] != SPECIAL or [ids[unit] for unit in units] != list(range(len(units))):
            raise RecordError.of(path, "the ids of the vocabulary are not consecutive", fix)
        if not is_unicode("".join(units)):
            raise RecordError.of(path, "a word is not valid Unicode", fix)
        return cls(_backend(units[len(SPECIAL) :]), inputs)

    def _frequent(self, texts: Iterable[str], min_count: int, most: int | None) -> list[str]:
        count = Counter(word for text in texts for word in self.split(text))
        if self.inputs.input_kind != "words":
            units: Counter[str] = Counter()
            for word, times in count.items():
                for unit in self.inputs.units(word):
                    units[unit] += times
            count = units
        ranked = sorted(count.items(), key=lambda item: (-item[1], item[0]))
        return [unit for unit, times in ranked[:most] if times >= min_count and unit not in SPECIAL]

    def _words(self, text: str, limit: int) -> tuple[list[str], list[int] | None]:
        """The words of a text, at least one, and the merge positions of its parse tree where the model reads one.

        Of the words of a long text without a tree, only the first `limit` and one more are there.
        """
        words = (self.split(text) if self.inputs.parse_brackets else self.splitter.first_words(text, limit)) or [""]
        parsed = parse_brackets(words) if self.inputs.parse_brackets else None
        return (words, None) if parsed is None else parsed

    def _numberer(self, numbers: dict[str, int]) -> Callable[[list[str]], list[int]]:
        if self.inputs.input_kind != "words":
            return lambda words: [numbers.setdefault(word, len(numbers) + 1) for word in words]
        known, first_oov = self.ids.get, len(self.ids)

        def oov_id(word: str) -> int:
            return first_oov + zlib.crc32(word.encode("utf-8", "surrogatepass")) % OOV_IDS

        return lambda words: [oov_id(word) if (id_ := known(word)) is None else id_ for word in words]

    def _ngram_table(self, numbers: dict[str, int]) -> NDArray[np.int32]:
        known = self.ids.get
        rows = [[id_ for unit in self.inputs.units(word) if (id_ := known(unit)) is not None] for word in numbers]
        table = np.zeros((len(rows) + 1, max(map(len, rows), default=1) or 1), np.int32)
        for row, ids in enumerate(rows, 1):
            table[row, : len(ids)] = ids
        return table


def _aligned_joins(
    ids: NDArray[np.int32], start: NDArray[np.int64], joins: dict[int, list[int]]
) -> NDArray[np.int32] | None:
    if not joins:
        return None
    flat = np.full(len(ids), -1, np.int32)
    for text, places in joins.items():
        flat[start[text] : start[text] + len(places)] = places
    return flat


def _backend(vocabulary: list[str]) -> "Backend":
    from tokenizers import Regex, models, normalizers, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    ids = {unit: id_ for id_, unit in enumerate([*SPECIAL, *vocabulary])}
    backend = Backend(models.WordLevel(ids, unk_token=SPECIAL[UNKNOWN]))
    # The stubs of `tokenizers` declare these two properties as read-only.
    parts: Any = backend
    parts.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    parts.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
    return backend
