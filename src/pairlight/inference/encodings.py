"""Stored encodings of right texts: fp32, fp16 or int8, in a memory-mapped file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write
from pairlight.core.progress import Progress
from pairlight.evaluation.classification import spearman
from pairlight.inference.scoring import MAX_CELLS, count_fitting, device_of, encode_texts, to_numpy, without_gradients
from pairlight.layers.backends import array_namespace
from pairlight.layers.collate import collate
from pairlight.layers.ragged import Ragged, RaggedTokens
from pairlight.layers.types import EncodedText, Seq
from pairlight.models.base import DualEncoder
from pairlight.text.tokenizer import TokenizedTexts

if TYPE_CHECKING:
    from pairlight.inference.scorer import Scorer

FORMAT = "pairlight-encodings-4"
DTYPES: dict[str, type[np.generic]] = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}
CHUNK = 4096  # texts encoded at a time
BLOCK = 2**14  # rows matched at a time: fewer cost more calls, more do not fit in the cache
TOP = 10

Array = NDArray[Any]


@dataclass(frozen=True)
class Encodings:
    """Encodings of texts: text t is rows start[t] to start[t+1], one per position, or a single one."""

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
        return _decoded(self.utf8, self.utf8_start, number)

    def text_id(self, number: int) -> str | None:
        """The id of a text, None where texts have no ids."""
        if self.text_ids is None or self.text_ids_start is None:
            return None
        return _decoded(self.text_ids, self.text_ids_start, number)

    def with_text_ids(self, ids: Sequence[str]) -> Self:
        """The same encodings with an id for each text."""
        if len(ids) != len(self):
            raise InputError(f"There are {len(ids)} ids for {len(self)} encoded texts: give one id for each text.")
        text_ids, start = _encoded(ids)
        return replace(self, text_ids=text_ids, text_ids_start=start)

    def astype(self, dtype: str) -> Self:
        """The same encodings at another precision; int8 has a scale per row."""
        check_dtype(dtype)
        x, scale = _quantized(self._fp32(0, len(self.x)), dtype)
        return replace(self, x=x, scale=scale)

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
            ids = None if self.ids is None else xp.from_numpy(self.ids[first:last], like)
            where = xp.from_numpy(start[:-1], like), xp.from_numpy(np.diff(start), like)
            yield Ragged(xp.from_numpy(self._fp32(first, last), like), ids, *where, self._subwords(at, end, like))
            at = end

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        header: dict[str, Any] = {
            "__metadata__": {"format": FORMAT, "model": self.model, "fingerprint": self.fingerprint}
        }
        arrays, end = self._arrays(), 0
        for name, array in arrays.items():
            header[name] = {
                "dtype": _KINDS[array.dtype.str],
                "shape": array.shape,
                "data_offsets": [end, end + array.nbytes],
            }
            end += array.nbytes
        head = json.dumps(header).encode()
        head += b" " * (-len(head) % 8)
        with atomic_write(Path(path)) as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for array in arrays.values():
                file.write(np.ascontiguousarray(array).data)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Map a file into memory; only what is used is read."""
        path = Path(path)
        damaged = InputError(f"{path} is damaged, or not a file of encodings: encode the texts again.")
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if not 2 <= length <= size - 8:
                    raise damaged
                header = json.loads(file.read(length))
            about = header.pop("__metadata__")
            if about["format"] != FORMAT:
                raise InputError(
                    f"{path} has the format {about['format']!r}, and this version reads {FORMAT!r}: "
                    "encode the texts again."
                )
            if max(entry["data_offsets"][1] for entry in header.values()) != size - 8 - length:
                raise damaged
            arrays: dict[str, Any] = {name: _mapped(path, 8 + length, entry) for name, entry in header.items()}
            found = cls(**arrays, model=about["model"], fingerprint=about["fingerprint"])
            found._check()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): give a file of encodings.") from None
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise damaged from None
        return found

    def _arrays(self) -> dict[str, Array]:
        # Arrays of wide numbers first, so that every array is aligned.
        arrays: dict[str, Array | None] = {
            "start": self.start,
            "utf8_start": self.utf8_start,
            "text_ids_start": self.text_ids_start,
            "subwords_start": self.subwords_start,
            "scale": self.scale,
            "ids": self.ids,
            "subwords": self.subwords,
            "x": self.x,
            "utf8": self.utf8,
            "text_ids": self.text_ids,
        }
        return {name: array for name, array in arrays.items() if array is not None}

    def _check(self) -> None:
        rows, size = len(self.x), len(self.utf8)
        per_row = [array for array in (self.ids, self.scale) if array is not None]
        if (
            self.x.ndim != 2
            or self.x.dtype not in DTYPES.values()
            or (self.x.dtype == np.int8) != (self.scale is not None)
            or any(array.shape != (rows,) for array in per_row)
            or self.start.shape != self.utf8_start.shape
            or [*self.start[[0, -1]], *self.utf8_start[[0, -1]]] != [0, rows, 0, size]
        ):
            raise ValueError
        for values, start in ((self.text_ids, self.text_ids_start), (self.subwords, self.subwords_start)):
            if values is None and start is None:
                continue
            if values is None or start is None or start.shape != self.start.shape:
                raise ValueError
            if [*start[[0, -1]]] != [0, len(values)]:
                raise ValueError

    def _subwords(self, at: int, end: int, like: Any) -> RaggedTokens | None:
        """The subwords of texts `at` to `end`."""
        if self.subwords is None or self.subwords_start is None:
            return None
        start = self.subwords_start[at : end + 1]
        ids = self.subwords[int(start[0]) : int(start[-1])].astype(np.int64)
        arrays = ids, start[:-1] - start[0], np.diff(start)
        return RaggedTokens(*(array_namespace(like).from_numpy(each, like) for each in arrays))

    def _fp32(self, first: int, last: int) -> NDArray[np.float32]:
        """Some rows as fp32."""
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
    chunks: list[tuple[Array | None, ...]] = []
    for at in range(0, len(texts), CHUNK):
        numbers = np.arange(at, min(at + CHUNK, len(texts)))
        with without_gradients(model):
            found = encode_texts(model.encode_right, tokenized, numbers, device_of(model)).in_order()
        x, scale = _quantized(to_numpy(found.x).astype(np.float32, copy=False), dtype)
        ids = None if found.ids is None else to_numpy(found.ids).astype(np.int32)
        subwords = None if found.subwords is None else to_numpy(found.subwords.ids).astype(np.int32)
        counts = None if found.subwords is None else to_numpy(found.subwords.lengths)
        chunks.append((x, scale, ids, to_numpy(found.lengths), subwords, counts))
        if progress is not None:
            progress((at + len(numbers)) / len(texts))
    if not chunks:
        chunks = [(*_quantized(np.zeros((0, 1), np.float32), dtype), None, np.zeros(0, np.int64), None, None)]
    x, scale, ids, lengths, subwords, counts = (_concatenated(column) for column in zip(*chunks, strict=True))
    return Encodings(
        x,
        _starts(lengths),
        *_encoded(texts),
        name,
        fingerprint,
        ids,
        scale,
        subwords=subwords,
        subwords_start=None if counts is None else _starts(counts),
    )


def score_encodings(model: DualEncoder[Any], query: TokenizedTexts, encodings: Encodings) -> NDArray[np.float32]:
    """The score of one left text with every encoded text."""
    model.eval()
    with without_gradients(model):
        u = model.encode_left(collate(query, np.array([0]), device_of(model)))
        own = u.own if isinstance(u, EncodedText) else u
        length, like = (own.x.shape[1], own.x) if isinstance(own, Seq) else (1, own)
        scores = [to_numpy(model.match(u, block.all())) for block in encodings.blocks(length, like)]
    return np.concatenate(scores).astype(np.float32, copy=False) if scores else np.zeros(0, np.float32)


@dataclass(frozen=True)
class Agreement:
    """How well the ranking by encodings of lower precision agrees with that by fp32, as a mean over queries."""

    dtype: str
    spearman: float  # correlation of the two rankings
    top: float  # share of the ten best texts that both rankings have
    queries: int
    texts: int


def agreement(scorer: "Scorer", encodings: Encodings, queries: Sequence[str], dtype: str) -> Agreement:
    """Rank with fp32 encodings and with the same ones stored as `dtype`, and compare."""
    if encodings.dtype != "fp32":
        raise InputError(f"These encodings are {encodings.dtype}: compare fp32 encodings with lower precision.")
    if not queries or len(encodings) < 2:
        raise InputError("Give at least one query and two encoded texts to compare rankings.")
    lower = encodings.astype(dtype)
    found = []
    for query in queries:
        a, b = (scorer.score_encoded(query, each) for each in (encodings, lower))
        best = [set(np.argsort(-scores, kind="stable")[:TOP].tolist()) for scores in (a, b)]
        found.append((spearman(a, b), len(best[0] & best[1]) / len(best[0])))
    correlation, top = np.mean(found, axis=0).tolist()
    return Agreement(dtype, correlation, top, len(queries), len(encodings))


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


def _concatenated(parts: tuple[Any, ...]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _encoded(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as one array of bytes, and where each of them starts."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(each) for each in encoded], np.int64)
    return np.frombuffer(bytearray(b"".join(encoded)), np.uint8), _starts(lengths)


def _decoded(utf8: NDArray[np.uint8], start: NDArray[np.int64], number: int) -> str:
    a, b = start[number : number + 2]
    return utf8[a:b].tobytes().decode("utf-8", "surrogatepass")


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


_KINDS = {"<f4": "F32", "<f2": "F16", "|i1": "I8", "<i4": "I32", "<i8": "I64", "|u1": "U8"}
_NUMBERS = {name: np.dtype(kind) for kind, name in _KINDS.items()}


def _mapped(path: Path, base: int, entry: Mapping[str, Any]) -> Array:
    kind, shape = _NUMBERS[entry["dtype"]], tuple(entry["shape"])
    first, end = entry["data_offsets"]
    if first < 0 or end - first != kind.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise ValueError
    # Copy on write: PyTorch needs writable arrays, and the file must not change.
    return np.memmap(path, kind, "c", base + first, shape) if end > first else np.zeros(shape, kind)
