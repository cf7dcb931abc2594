"""Scores many pairs with a model, in batches of similar length; a pair's score does not depend on its batch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.data.batching import batches_by_length
from pairlight.layers.backends import array_namespace
from pairlight.layers.collate import collate
from pairlight.layers.ragged import Ragged
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, EncodedText, Seq, Tokens
from pairlight.models.base import DualEncoder, PairModel
from pairlight.text.tokenizer import TokenizedTexts

BATCH = 256
LOOKUP_BATCH = 512  # of a model that only looks vectors up: right texts of one left text share words
MAX_CELLS = 2**20  # grid cells of a batch, padding included, which bounds memory when texts are long
MAX_ENCODED = 2**17  # words whose encodings are held at a time
MIN_PAIRS = 1024  # pairs scored together at least, so that sorting by length pays
REUSE_BELOW = 0.8  # distinct texts per pair above which looking up an encoding costs more than it saves
ALL_WITH_ALL = 4  # possible pairs for each of those given, up to which an index of right texts pays

Encode = Callable[[Tokens], Any]
TextNumbers = NDArray[np.integer]


def device_of(model: PairModel) -> Any:
    """The device of a model in PyTorch; None for one on NumPy, or without weights."""
    first = next((array for _, array in model.named_arrays()), None)
    return None if first is None or isinstance(first, np.ndarray) else first.device


def without_gradients(model: PairModel) -> AbstractContextManager[Any]:
    """A context in which a model in PyTorch computes no gradients."""
    first = next((array for _, array in model.named_arrays()), np.zeros(0))
    context: AbstractContextManager[Any] = array_namespace(first).no_grad()
    return context


def score_pairs(model: PairModel, texts: TokenizedTexts, left: TextNumbers, right: TextNumbers) -> NDArray[np.float32]:
    """One score for each pair of text numbers."""
    model.eval()
    with without_gradients(model):
        return _score_pairs(model, texts, left, right)


def _score_pairs(model: PairModel, texts: TokenizedTexts, left: TextNumbers, right: TextNumbers) -> NDArray[np.float32]:
    lexical = model.lexical_layer()
    if lexical is not None and not is_watched(lexical) and _all_with_all(left, right):
        return lexical.index_scores(texts, left, right)
    lookup = isinstance(model, DualEncoder) and model.encodes_by_lookup
    if isinstance(model, DualEncoder) and not lookup:
        reuse = [len(np.unique(side)) <= REUSE_BELOW * len(side) for side in (left, right)]
        if any(reuse):
            return _score_with_reuse(model, texts, (left, right), reuse)
    device = device_of(model)
    scores = np.empty(len(left), np.float32)
    for rows in _batches(texts.lengths[left], texts.lengths[right], LOOKUP_BATCH if lookup else BATCH):
        lefts = left[rows]
        if (lefts == lefts[0]).all():  # one query with many texts is read once
            lefts = lefts[:1]
        batch = model(collate(texts, lefts, device), collate(texts, right[rows], device))
        scores[rows] = to_numpy(batch)
    return scores


def _all_with_all(left: TextNumbers, right: TextNumbers) -> bool:
    """Whether most left texts are paired with most right texts, as where one query ranks many texts."""
    return len(np.unique(left)) * len(np.unique(right)) <= ALL_WITH_ALL * len(left)


def encode_texts(encode: Encode, texts: TokenizedTexts, numbers: TextNumbers, device: Any) -> Ragged:
    """The encodings of these texts, in their order; call it `without_gradients`."""
    batches = batches_by_length(texts.lengths[numbers], BATCH)
    encoded = Ragged.of([encode(collate(texts, numbers[rows], device)) for rows in batches])
    back = np.argsort(np.concatenate(batches))
    return encoded.take(array_namespace(encoded.start).from_numpy(back, encoded.start))


def to_numpy(x: Array) -> NDArray[Any]:
    """An array of either library as a NumPy array."""
    y: NDArray[Any] = array_namespace(x).to_numpy(x)
    return y


def count_fitting(lengths: Sequence[NDArray[np.int64]], limit: int) -> int:
    """How many items from the first on, at least one, fit in `limit` places when padded: items x longest x ..."""
    places = np.arange(1, len(lengths[0]) + 1)
    for each in lengths:
        places = places * np.maximum.accumulate(each)
    return max(1, int(np.searchsorted(places, limit, "right")))


def _batches(left: NDArray[np.int64], right: NDArray[np.int64], size: int = BATCH) -> Iterator[TextNumbers]:
    """Rows of pairs of similar size, by the lengths of their texts; fewer where texts are long."""
    for rows in batches_by_length(left * right, size):
        while len(rows):
            end = count_fitting([left[rows], right[rows]], MAX_CELLS)
            yield rows[:end]
            rows = rows[end:]


def _score_with_reuse(
    model: DualEncoder[Any], texts: TokenizedTexts, sides: tuple[TextNumbers, TextNumbers], reuse: list[bool]
) -> NDArray[np.float32]:
    """Encode each distinct text once per block of pairs, on the sides where texts repeat."""
    device, lengths = device_of(model), texts.lengths
    scores = np.empty(len(sides[0]), np.float32)
    for block in _blocks(lengths, [side for side, kept in zip(sides, reuse, strict=True) if kept], len(scores)):
        left, right = (side[block] for side in sides)
        u = _encoder(model.encode_left, texts, left, device, reuse[0])
        v = _encoder(model.encode_right, texts, right, device, reuse[1])
        for rows in _batches(lengths[left], lengths[right]):
            scores[block.start + rows] = to_numpy(model.match(u(rows), v(rows)))
    return scores


def _encoder(
    encode: Encode, texts: TokenizedTexts, numbers: TextNumbers, device: Any, reuse: bool
) -> Callable[[TextNumbers], Seq | Array | EncodedText]:
    """Gives the encodings of some of these texts: looked up where texts repeat, else computed on request."""
    if not reuse:
        return lambda rows: encode(collate(texts, numbers[rows], device))
    distinct, place = np.unique(numbers, return_inverse=True)
    encoded = encode_texts(encode, texts, distinct, device)
    xp = array_namespace(encoded.start)
    return lambda rows: encoded.pad(xp.from_numpy(place[rows], encoded.start))


def _blocks(lengths: NDArray[np.int64], repeated: list[TextNumbers], pairs: int) -> Iterator[slice]:
    """Runs of pairs, as long as the distinct texts in them have few enough words to hold."""
    start = 0
    while start < pairs:
        end = start + MIN_PAIRS
        while end < pairs:
            further = end + (end - start)
            if sum(lengths[np.unique(side[start:further])].sum() for side in repeated) > MAX_ENCODED:
                break
            end = further
        yield slice(start, min(end, pairs))
        start = end
