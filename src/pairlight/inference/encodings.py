"""Stored encodings of right texts: fp32, fp16 or int8, in a memory-mapped file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairlight.core.checked_file import CHECKSUMS, CheckedFile, DamagedFileError, write_checked
from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.inference.scoring import (
    MAX_CELLS,
    count_fitting,
    device_of,
    encode_texts,
    to_numpy,
    without_gradients,
)
from pairlight.kernels.native.stored_kmax import StoredRows
from pairlight.kernels.native.stored_words import StoredWords
from pairlight.layers.backends import array_namespace
from pairlight.layers.ragged import Ragged, RaggedTokens
from pairlight.layers.stored import Stored, unit_factors
from pairlight.models.base import DualEncoder
from pairlight.text.tokenizer import TokenizedTexts

FORMAT = "pairlight-encodings-5"
DTYPES: dict[str, type[np.generic]] = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}
CHUNK = 4096  # texts encoded at a time
BLOCK = 2**14  # rows matched at a time: fewer cost more calls, more do not fit in the cache

Array = NDArray[Any]

# The arrays of a file, with their types and numbers of dimensions.
_ARRAYS: dict[str, tuple[str, int]] = {
    "start": ("i8", 1),
    "x": ("f4 f2 i1", 2),
    "scale": ("f4", 1),
    "factors": ("f4", 2),
    "reach": ("f4", 1),
    "ids": ("i4", 1),
    "subwords": ("i4", 1),
    "subwords_start": ("i8", 1),
    "products": ("f4", 2),
    "utf8": ("u1", 1),
    "utf8_start": ("i8", 1),
    "text_ids": ("u1", 1),
    "text_ids_start": ("i8", 1),
}
_INDEX = ("start", "utf8_start", "subwords_start", "text_ids_start")  # read when a file is opened


@dataclass(frozen=True)
class Encodings:
    """Encodings of texts: text t is rows start[t] to start[t+1], one per position, or a single one.

    A model that looks the vectors of words up in a table of its own stores the words alone, so that D is 0.
    """

    x: Array  # [rows, D]
    start: NDArray[np.int64]  # [T+1]
    utf8: NDArray[np.uint8]  # the texts themselves, concatenated
    utf8_start: NDArray[np.int64]  # [T+1]
    model: str
    fingerprint: str  # of the scorer that made these encodings; no other can use them
    ids: NDArray[np.int32] | None = None  # [rows] the word ids; None where a text is one vector
    scale: NDArray[np.float32] | None = None  # [rows] the factor of int8 values
    text_ids: NDArray[np.uint8] | None = None  # the ids of the texts, concatenated; None where texts have no ids
    text_ids_start: NDArray[np.int64] | None = None  # [T+1]
    subwords: NDArray[np.int32] | None = None  # the texts as subwords, concatenated; None for models without evidence
    subwords_start: NDArray[np.int64] | None = None  # [T+1]
    factors: NDArray[np.float32] | None = None  # [rows, P] for cosines: scale / the length of each part of a row
    products: NDArray[np.float32] | None = None  # [T, 3] sums over the subwords of a text, see `text_products`
    reach: NDArray[np.float32] | None = None  # [1] the length of the longest row
    file: CheckedFile | None = field(default=None, repr=False, compare=False)  # where arrays are mapped from

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def dtype(self) -> str:
        return next(name for name, kind in DTYPES.items() if self.x.dtype == kind)

    @property
    def bytes_per_text(self) -> float:
        return sum(array.nbytes for array in self._arrays().values()) / max(len(self), 1)

    def __getitem__(self, number: int) -> str:
        """The text itself."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._decoded("utf8", self.utf8, self.utf8_start, number)

    def text_id(self, number: int) -> str | None:
        """The id of a text, None where texts have no ids."""
        if self.text_ids is None or self.text_ids_start is None:
            return None
        return self._decoded("text_ids", self.text_ids, self.text_ids_start, number)

    def with_text_ids(self, ids: Sequence[str]) -> Self:
        """The same encodings with an id for each text."""
        if len(ids) != len(self):
            raise InputError(f"There are {len(ids)} ids for {len(self)} encoded texts: give one id for each text.")
        text_ids, start = _encoded(ids)
        return replace(self, text_ids=text_ids, text_ids_start=start)

    def astype(self, dtype: str) -> Self:
        """The same encodings at another precision; int8 has a scale per row. Words alone have none."""
        check_dtype(dtype)
        if not self.x.shape[1]:
            return self
        x, scale = _quantized(self._fp32(0, len(self.x)), dtype)
        return replace(self, **_rows(x, scale, 0 if self.factors is None else self.factors.shape[1]))

    def blocks(self, left_length: int, like: Any) -> Iterator[Ragged]:
        """All texts in order, a block at a time, sized for matching with a left text of this length.

        The arrays are in the library and on the device of `like`.
        """
        xp = array_namespace(like)
        at = 0
        while at < len(self):
            end = max(at + 1, int(np.searchsorted(self.start, self.start[at] + BLOCK, "right")) - 1)
            end = at + count_fitting([np.diff(self.start[at : end + 1])], MAX_CELLS // left_length)
            first, last = int(self.start[at]), int(self.start[end])
            start = self.start[at : end + 1] - first
            self._check_rows("ids", first, last)
            own = None if self.ids is None else self.ids[first:last]
            _check_ids(own)
            ids = None if own is None else xp.from_numpy(own, like)
            where = xp.from_numpy(start[:-1], like), xp.from_numpy(np.diff(start), like)
            yield Ragged(xp.from_numpy(self._fp32(first, last), like), ids, *where, self._subwords(at, end, like))
            at = end

    @cached_property
    def stored(self) -> Stored:
        """All texts, to be scored in one pass over them; all that is read of a file is checked before."""
        read = ["x", "scale", "factors", "reach", "products", "subwords" if self.x.shape[1] else "ids"]
        for name in read:
            self._check_rows(name)
        reach = np.inf if self.reach is None else float(self.reach[0])
        rows = StoredRows(self.x, self.start, self.scale, self.factors, reach)
        ids, start = (self.subwords, self.subwords_start) if self.x.shape[1] else (self.ids, self.start)
        _check_ids(ids)
        if ids is None or start is None or self.products is None:
            return Stored(rows, None)
        return Stored(rows, StoredWords(ids, start, _distinct(ids), self.products))

    def save(self, path: str | Path) -> None:
        """Write a safetensors file with checksums."""
        for name in self._arrays():
            self._check_rows(name)
        about = {"format": FORMAT, "model": self.model, "fingerprint": self.fingerprint}
        write_checked(Path(path), about, self._arrays())

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = False) -> Self:
        """Map a file into memory: only what is used is read, and compared with its checksums when it is first read.

        With `verify`, the whole file is compared now.
        """
        path = Path(path)
        try:
            file = CheckedFile(path)
            about = file.about
            if about["format"] != FORMAT:
                raise InputError(
                    f"{path} has the format {about['format']!r}, and this version reads {FORMAT!r}: "
                    "encode the texts again."
                )
            arrays: dict[str, Any] = {name: array for name, array in file.arrays.items() if name != CHECKSUMS}
            for name in arrays if verify else [name for name in _INDEX if name in arrays]:
                file.check(name)
            found = cls(**arrays, model=about["model"], fingerprint=about["fingerprint"], file=file)
            found._check()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): give a file of encodings.") from None
        except (DamagedFileError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise _damaged(path) from None
        return found

    def _arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {name: array for name, array in arrays.items() if array is not None}

    def _check(self) -> None:
        """Check the types and shapes of all arrays, and that they contain every text."""
        for name, array in self._arrays().items():
            kinds, dimensions = _ARRAYS[name]
            if array.dtype not in map(np.dtype, kinds.split()) or array.ndim != dimensions:
                raise ValueError(name)
        texts, rows = len(self), len(self.x)
        for name, length in (("ids", rows), ("scale", rows), ("factors", rows), ("products", texts), ("reach", 1)):
            array = getattr(self, name)
            if array is not None and len(array) != length:
                raise ValueError(name)
        if (self.x.dtype == np.int8) != (self.scale is not None):
            raise ValueError("scale")
        if self.products is not None and self.products.shape[1] != 3:
            raise ValueError("products")
        ragged = (
            (self.x, self.start, 1),
            (self.utf8, self.utf8_start, 0),
            (self.subwords, self.subwords_start, 1),
            (self.text_ids, self.text_ids_start, 0),
        )
        for values, start, least in ragged:
            if values is None and start is None:
                continue
            if values is None or start is None or len(start) != texts + 1:
                raise ValueError("start")
            if [*start[[0, -1]]] != [0, len(values)] or (np.diff(start) < least).any():
                raise ValueError("start")

    def _check_rows(self, name: str, first: int = 0, end: int | None = None) -> None:
        """Compare rows of a mapped array with their checksums, if they are read for the first time."""
        array = getattr(self, name)
        if self.file is None or array is None or self.file.arrays.get(name) is not array:
            return
        try:
            self.file.check(name, first, end)
        except DamagedFileError:
            raise _damaged(self.file.path) from None

    def _decoded(self, name: str, utf8: NDArray[np.uint8], start: NDArray[np.int64], number: int) -> str:
        first, end = start[number : number + 2].tolist()
        self._check_rows(name, first, end)
        return utf8[first:end].tobytes().decode("utf-8", "surrogatepass")

    def _subwords(self, at: int, end: int, like: Any) -> RaggedTokens | None:
        """The subwords of texts `at` to `end`."""
        if self.subwords is None or self.subwords_start is None:
            return None
        start = self.subwords_start[at : end + 1]
        first, last = int(start[0]), int(start[-1])
        self._check_rows("subwords", first, last)
        arrays = self.subwords[first:last].astype(np.int64), start[:-1] - first, np.diff(start)
        return RaggedTokens(*(array_namespace(like).from_numpy(each, like) for each in arrays))

    def _fp32(self, first: int, last: int) -> NDArray[np.float32]:
        """Some rows as fp32."""
        self._check_rows("x", first, last)
        self._check_rows("scale", first, last)
        x = self.x[first:last].astype(np.float32, copy=False)
        return x if self.scale is None else x * self.scale[first:last, None]


def encode_right_texts(
    model: DualEncoder[Any],
    tokenized: TokenizedTexts,
    texts: Sequence[str],
    dtype: str,
    *,
    name: str,
    fingerprint: str,
    progress: Progress | None = None,
) -> Encodings:
    """Encode each text once, as a right text."""
    check_dtype(dtype)
    model.eval()
    with without_gradients(model):
        scorer = model.stored_scorer()
    if model.stores_words:
        words, start = tokenized.ids, tokenized.start
        products = None if scorer is None else scorer.products(words, start)
        x = np.zeros((len(words), 0), np.float32)
        return Encodings(x, start, *_encoded(texts), name, fingerprint, words, products=products)
    chunks: list[tuple[Array | None, ...]] = []
    for at in range(0, len(texts), CHUNK):
        numbers = np.arange(at, min(at + CHUNK, len(texts)))
        with without_gradients(model):
            found = encode_texts(model.encode_right, tokenized, numbers, device_of(model)).in_order()
        quantized = _quantized(to_numpy(found.x).astype(np.float32, copy=False), dtype)
        rows = _rows(*quantized, 0 if scorer is None else scorer.parts)
        ids = None if found.ids is None else to_numpy(found.ids).astype(np.int32)
        subwords = None if found.subwords is None else to_numpy(found.subwords.ids).astype(np.int32)
        counts = None if found.subwords is None else to_numpy(found.subwords.lengths)
        chunks.append((*rows.values(), ids, to_numpy(found.lengths), subwords, counts))
        if progress is not None:
            progress((at + len(numbers)) / len(texts))
    if not chunks:
        rows = _rows(*_quantized(np.zeros((0, 1), np.float32), dtype), 0)
        chunks = [(*rows.values(), None, np.zeros(0, np.int64), None, None)]
    columns = [_concatenated(column) for column in zip(*chunks, strict=True)]
    x, scale, factors, reach, ids, lengths, subwords, counts = columns
    subwords_start = None if counts is None else _starts(counts)
    return Encodings(
        x,
        _starts(lengths),
        *_encoded(texts),
        name,
        fingerprint,
        ids,
        scale,
        subwords=subwords,
        subwords_start=subwords_start,
        factors=factors,
        products=None if scorer is None or subwords_start is None else scorer.products(subwords, subwords_start),
        reach=reach.max(keepdims=True),
    )


def check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise InputError(f"dtype={dtype!r} is not one of {', '.join(DTYPES)}.", option="dtype")


def _quantized(x: NDArray[np.float32], dtype: str) -> tuple[Array, NDArray[np.float32] | None]:
    if dtype != "int8":
        most = 65504 if dtype == "fp16" else np.inf  # the largest fp16 number
        return x.clip(-most, most).astype(DTYPES[dtype], copy=False), None
    scale = np.abs(x).max(1, initial=0) / np.float32(127)
    scale[scale == 0] = 1
    return np.rint(x / scale[:, None]).astype(np.int8), scale


def _rows(x: Array, scale: NDArray[np.float32] | None, parts: int) -> dict[str, Any]:
    """The arrays that depend on the rows alone, once their precision is chosen."""
    whole = x.astype(np.float32) if scale is None else x * scale[:, None]
    reach = np.sqrt((whole**2).sum(1).max(keepdims=True, initial=0))
    return {"x": x, "scale": scale, "factors": unit_factors(whole, parts, scale), "reach": reach}


def _distinct(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The ids that occur, ascending."""
    found = np.zeros(int(ids.max(initial=0)) + 1, np.bool_)
    found[ids] = True
    return np.flatnonzero(found).astype(np.int32)


def _check_ids(ids: NDArray[np.int32] | None) -> None:
    """Refuse words that no vocabulary has; those beyond the vocabulary of a model have higher ids."""
    if ids is not None and ids.min(initial=0) < 0:
        raise InputError(f"A stored word has the id {ids.min()}, and ids start at 0: encode the texts again.")


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is damaged, or not a file of encodings: encode the texts again.")


def _concatenated(parts: tuple[Any, ...]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _encoded(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as one array of bytes, and where each of them starts."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(each) for each in encoded], np.int64)
    return np.frombuffer(bytearray(b"".join(encoded)), np.uint8), _starts(lengths)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
