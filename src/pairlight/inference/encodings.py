"""Right texts as a model has read them: kept as fp32, fp16 or int8, in a file that is only read where it is used."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.evaluation.labelled import spearman
from pairlight.core.files import atomic_write
from pairlight.core.memory import disable_malloc_trim
from pairlight.models.base import DualEncoder
from pairlight.inference.scoring import CELLS, device_of, fitting, read_texts, tokens
from pairlight.layers.types import Seq
from pairlight.layers.ragged import Ragged
from pairlight.text.tokenizer import TokenizedTexts

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

FORMAT = "pairlight-encodings-1"
DTYPES: dict[str, type[np.generic]] = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}
STRETCH = 4096  # texts that are read at a time
BLOCK = 2**14  # rows that are matched at a time: fewer cost more calls, more fall out of the cache
TOP = 10

Array = NDArray[Any]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Encodings:
    """Text t is rows start[t] to start[t+1]: one for each of its positions, or a single one."""

    x: Array  # [rows, D]
    start: NDArray[np.int64]  # [T+1]
    letters: NDArray[np.uint8]  # the texts themselves, end to end
    letters_start: NDArray[np.int64]  # [T+1]
    model: str
    fingerprint: str  # of the model, its words and its limit: no other can use these encodings
    ids: NDArray[np.int32] | None = None  # [rows] which words these are; None where a text is one vector
    scale: NDArray[np.float32] | None = None  # [rows] what int8 is multiplied by

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def dtype(self) -> str:
        return next(name for name, kind in DTYPES.items() if self.x.dtype == kind)

    @property
    def bytes_a_text(self) -> float:
        return sum(array.nbytes for array in self._arrays().values()) / max(len(self), 1)

    def __getitem__(self, number: int) -> str:
        """The text itself."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        a, b = self.letters_start[number : number + 2]
        return self.letters[a:b].tobytes().decode("utf-8", "surrogatepass")

    def stored_as(self, dtype: str) -> Self:
        """The same at another precision; int8 has a scale for each row."""
        check_dtype(dtype)
        x, scale = _stored(self._whole(0, len(self.x)).numpy(), dtype)
        return replace(self, x=x, scale=scale)

    def blocks(self, left: int) -> Iterator[Ragged]:
        """All texts in their order, some at a time, as a model matches them with a left text of so many positions."""
        at = 0
        while at < len(self):
            end = max(at + 1, int(np.searchsorted(self.start, self.start[at] + BLOCK, "right")) - 1)
            end = at + fitting([np.diff(self.start[at : end + 1])], CELLS // left)
            first, last = int(self.start[at]), int(self.start[end])
            start = torch.from_numpy(self.start[at : end + 1] - first)
            ids = None if self.ids is None else torch.from_numpy(self.ids[first:last])
            yield Ragged(self._whole(first, last), ids, start[:-1], start.diff())
            at = end

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: a header that says where each array is, and the arrays."""
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
        """Map a file into memory: what of it is read is what is used."""
        path = Path(path)
        damaged = InputError(f"{path} is damaged or holds no encodings: make it anew with `pairlight encode`.")
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if not 2 <= length <= size - 8:
                    raise damaged
                header = json.loads(file.read(length))
            about = header.pop("__metadata__")
            if (
                about["format"] != FORMAT
                or max(entry["data_offsets"][1] for entry in header.values()) != size - 8 - length
            ):
                raise damaged
            arrays: dict[str, Any] = {name: _mapped(path, 8 + length, entry) for name, entry in header.items()}
            found = cls(**arrays, model=about["model"], fingerprint=about["fingerprint"])
            found._check()
        except OSError as error:
            raise InputError(f"{path} can't be read ({error.strerror}): is this a file of encodings?") from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise damaged from None
        return found

    def _arrays(self) -> dict[str, Array]:
        # Those of wide numbers first: each array then begins where its numbers may.
        arrays: dict[str, Array | None] = {
            "start": self.start,
            "letters_start": self.letters_start,
            "scale": self.scale,
            "ids": self.ids,
            "x": self.x,
            "letters": self.letters,
        }
        return {name: array for name, array in arrays.items() if array is not None}

    def _check(self) -> None:
        rows, letters = len(self.x), len(self.letters)
        beside = [array for array in (self.ids, self.scale) if array is not None]
        if (
            self.x.ndim != 2
            or self.x.dtype not in DTYPES.values()
            or (self.x.dtype == np.int8) != (self.scale is not None)
            or any(array.shape != (rows,) for array in beside)
            or self.start.shape != self.letters_start.shape
            or [*self.start[[0, -1]], *self.letters_start[[0, -1]]] != [0, rows, 0, letters]
        ):
            raise ValueError

    def _whole(self, first: int, last: int) -> torch.Tensor:
        """Rows as fp32."""
        x = torch.from_numpy(self.x[first:last]).float()
        return x if self.scale is None else x * torch.from_numpy(self.scale[first:last, None])


def encode_texts(
    model: DualEncoder[Any],
    encoded: TokenizedTexts,
    texts: Sequence[str],
    dtype: str,
    *,
    name: str,
    fingerprint: str,
    progress: Progress | None = None,
) -> Encodings:
    """Read each text once, as a right one."""
    check_dtype(dtype)
    model.eval()
    parts: list[tuple[Array, Array | None, Array | None, Array]] = []
    for at in range(0, len(texts), STRETCH):
        some = np.arange(at, min(at + STRETCH, len(texts)))
        found = read_texts(model.right, encoded, some, device_of(model)).in_order()
        x, scale = _stored(found.x.float().cpu().numpy(), dtype)
        parts.append(
            (x, scale, None if found.ids is None else found.ids.int().cpu().numpy(), found.lengths.cpu().numpy())
        )
        if progress is not None:
            progress((at + len(some)) / len(texts))
    written = [text.encode("utf-8", "surrogatepass") for text in texts]
    if not parts:
        parts = [(*_stored(np.zeros((0, 1), np.float32), dtype), None, np.zeros(0, np.int64))]
    x, scale, ids, lengths = (_joined(column) for column in zip(*parts, strict=True))
    return Encodings(
        x,
        _starts(lengths),
        np.frombuffer(bytearray(b"".join(written)), np.uint8),
        _starts(np.array([len(each) for each in written], np.int64)),
        name,
        fingerprint,
        ids,
        scale,
    )


@torch.no_grad()
def score_encodings(model: DualEncoder[Any], query: TokenizedTexts, encodings: Encodings) -> NDArray[np.float32]:
    """The score of one left text with every text that was encoded."""
    disable_malloc_trim()
    model.eval()
    device = device_of(model)
    u = model.left(tokens(query, np.array([0]), device))
    left = u.x.shape[1] if isinstance(u, Seq) else 1
    scores = [model.match(u, block.to(device).all()).float().cpu() for block in encodings.blocks(left)]
    return torch.cat(scores).numpy() if scores else np.zeros(0, np.float32)


@dataclass(frozen=True)
class Agreement:
    """How far the ranking by encodings of lower precision is that by fp32, the mean over queries."""

    dtype: str
    spearman: float  # correlation of the two rankings
    top: float  # share of the ten best that both have
    queries: int
    texts: int


def agreement(matcher: "Matcher", encodings: Encodings, queries: Sequence[str], dtype: str) -> Agreement:
    """Rank with fp32 encodings and with the same ones stored as `dtype`, and compare."""
    if encodings.dtype != "fp32":
        raise InputError(f"These encodings are {encodings.dtype}: only fp32 ones can be compared with lower precision.")
    if not queries or len(encodings) < 2:
        raise InputError("There is nothing to compare: give at least one query and two encoded texts.")
    lower = encodings.stored_as(dtype)
    found = []
    for query in queries:
        a, b = (matcher.score_encoded(query, each) for each in (encodings, lower))
        best = [set(np.argsort(-scores, kind="stable")[:TOP].tolist()) for scores in (a, b)]
        found.append((spearman(a, b), len(best[0] & best[1]) / len(best[0])))
    correlation, top = np.mean(found, axis=0).tolist()
    return Agreement(dtype, correlation, top, len(queries), len(encodings))


def check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise InputError(f"dtype={dtype!r} is none of {', '.join(DTYPES)}.")


def _stored(x: NDArray[np.float32], dtype: str) -> tuple[Array, NDArray[np.float32] | None]:
    if dtype != "int8":
        most = 65504 if dtype == "fp16" else np.inf  # beyond which fp16 has no number
        return x.clip(-most, most).astype(DTYPES[dtype], copy=False), None
    scale = np.abs(x).max(1, initial=0) / np.float32(127)
    scale[scale == 0] = 1
    return np.rint(x / scale[:, None]).astype(np.int8), scale


def _joined(parts: tuple[Any, ...]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


_KINDS = {"<f4": "F32", "<f2": "F16", "|i1": "I8", "<i4": "I32", "<i8": "I64", "|u1": "U8"}
_NUMBERS = {name: np.dtype(kind) for kind, name in _KINDS.items()}


def _mapped(path: Path, base: int, entry: Mapping[str, Any]) -> Array:
    kind, shape = _NUMBERS[entry["dtype"]], tuple(entry["shape"])
    first, end = entry["data_offsets"]
    if first < 0 or end - first != kind.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise ValueError
    # Copy on write: PyTorch wants arrays that may be written, and the file must never be.
    return np.memmap(path, kind, "c", base + first, shape) if end > first else np.zeros(shape, kind)
