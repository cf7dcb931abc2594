"""Encodings of documents as bytes that are stored with them, so that they are reranked without encoding them again."""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.inference.encodings import Encodings
from pairlight.inference.model_folder import read_config
from pairlight.inference.ready_made import resolve_model
from pairlight.inference.scorer import Scorer
from pairlight.inference.windows import Window, passages_of, tokenized_for_windows, windows_of
from pairlight.models import model_class
from pairlight.models.base import DualEncoder
from pairlight.search.documents import Document
from pairlight.text.checks import short_repr

DTYPE = "fp16"  # of the vectors: half the size of fp32, and scores that differ only by its rounding
TEXTS = 256  # documents encoded at a time, so that the encodings of long texts fit in memory

# What is stored begins with the fingerprint of the scorer, the checksum of the rest, and the sizes of the arrays:
# windows, rows, numbers of a row, factors of a row, subwords, whether there are word ids and products, and the reach.
_HEADER = struct.Struct("<32sI7if")
_CHECKED_FROM = 36

Array = NDArray[Any]


def stores_encodings(model: str | Path | None) -> bool:
    """Whether it pays to store what a model computes of a text alone: not if it only looks words up in a table."""
    if model is None:
        return False
    kind = model_class(read_config(resolve_model(model)).model)
    return issubclass(kind, DualEncoder) and not kind.encodes_by_lookup


def with_encodings(scorer: Scorer, documents: Iterable[Document]) -> Iterator[Document]:
    """The documents with the encodings of their windows."""
    source = iter(documents)
    while part := list(islice(source, TEXTS)):
        texts = [each.text for each in part]
        windows = windows_of(tokenized_for_windows(scorer, texts).lengths.tolist(), scorer.right_length)
        passages = passages_of(scorer, texts, windows)
        encodings = scorer.encode_right([each.text for each in passages], dtype=DTYPE)
        first = np.searchsorted([each.text for each in windows], np.arange(len(part) + 1)).tolist()
        for i, document in enumerate(part):
            yield replace(document, encoding=_packed(encodings, windows, first[i], first[i + 1]))


def are_encoded_by(scorer: Scorer, documents: Sequence[Document]) -> list[bool]:
    """Whether each document has encodings of this scorer; those of another model are not used."""
    if all(each.encoding is None for each in documents):
        return [False] * len(documents)
    own = bytes.fromhex(scorer.fingerprint())
    return [each.encoding is not None and each.encoding.startswith(own) for each in documents]


def unpacked(documents: Sequence[Document]) -> tuple[Encodings, list[Window]]:
    """The encodings of all windows of these documents, and the windows."""
    windows: list[Window] = []
    parts: list[tuple[Any, ...]] = []
    for number, document in enumerate(documents):
        stored = document.encoding or b""
        try:
            places, *arrays = _arrays(stored)
        except (struct.error, ValueError):
            raise InputError(
                f"The stored encoding of document {short_repr(document.id)} is damaged: index the documents again."
            ) from None
        windows += [Window(number, start, end, len(places) == 1) for start, end, _, _ in places.tolist()]
        parts.append((places, *arrays))
    columns: list[Any] = [None if each[0] is None else np.concatenate(each) for each in zip(*parts, strict=True)]
    places, x, factors, ids, subwords, products, reach = columns
    no_texts = np.zeros(len(windows) + 1, np.int64)
    fingerprint = (documents[0].encoding or b"")[:32].hex()
    encodings = Encodings(
        x,
        _starts(places[:, 2]),
        np.zeros(0, np.uint8),
        no_texts,
        "",
        fingerprint,
        ids,
        subwords=subwords,
        subwords_start=None if subwords is None else _starts(places[:, 3]),
        factors=factors,
        products=products,
        reach=reach.max(keepdims=True),
    )
    return encodings, windows


def _packed(encodings: Encodings, windows: Sequence[Window], first: int, end: int) -> bytes:
    """The encodings of the windows `first` to `end`, those of one document."""
    start, subwords_start = encodings.start, encodings.subwords_start
    rows = slice(*start[[first, end]].tolist())
    subwords, subword_lengths = None, np.zeros(end - first, np.int64)
    if encodings.subwords is not None and subwords_start is not None:
        subwords = encodings.subwords[slice(*subwords_start[[first, end]].tolist())]
        subword_lengths = np.diff(subwords_start[first : end + 1])
    spans = [(each.start, each.end) for each in windows[first:end]]
    places = np.column_stack([spans, np.diff(start[first : end + 1]), subword_lengths]).astype(np.int32)
    factors, ids, products = (
        None if array is None else array[part]
        for array, part in (
            (encodings.factors, rows),
            (encodings.ids, rows),
            (encodings.products, slice(first, end)),
        )
    )
    x = encodings.x[rows]
    sizes = (
        len(places),
        *x.shape,
        0 if factors is None else factors.shape[1],
        -1 if subwords is None else len(subwords),
        ids is not None,
        products is not None,
        0.0 if encodings.reach is None else float(encodings.reach[0]),
    )
    content = b"".join(
        np.ascontiguousarray(each).tobytes()
        for each in (places, x, factors, ids, subwords, products)
        if each is not None
    )
    header = _HEADER.pack(bytes.fromhex(encodings.fingerprint), 0, *sizes)
    checksum = zlib.crc32(content, zlib.crc32(header[_CHECKED_FROM:]))
    return _HEADER.pack(bytes.fromhex(encodings.fingerprint), checksum, *sizes) + content


def _arrays(stored: bytes) -> list[Any]:
    """The arrays of what `_packed` has made; ValueError or struct.error if it is damaged."""
    _, checksum, windows, rows, dim, parts, subwords, has_ids, has_products, reach = _HEADER.unpack_from(stored)
    if zlib.crc32(memoryview(stored)[_CHECKED_FROM:]) != checksum:
        raise ValueError("checksum")
    at = _HEADER.size
    found: list[Any] = []
    for kind, shape in (
        (np.int32, (windows, 4)),
        (np.float16, (rows, dim)),
        (np.float32, (rows, parts) if parts else None),
        (np.int32, (rows,) if has_ids else None),
        (np.int32, (subwords,) if subwords >= 0 else None),
        (np.float32, (windows, 3) if has_products else None),
    ):
        if shape is None:
            found.append(None)
            continue
        array = np.frombuffer(stored, kind, int(np.prod(shape)), at).reshape(shape)
        found.append(array)
        at += array.nbytes
    return [*found, np.array([reach], np.float32)]


def _starts(lengths: Array) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
