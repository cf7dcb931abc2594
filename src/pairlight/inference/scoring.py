"""The scores of many pairs: batches of like length, and the same number for a pair whatever batch it is in."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pairlight.data.batching import by_length, gather
from pairlight.core.memory import disable_malloc_trim
from pairlight.models.base import DualEncoder, PairModel
from pairlight.layers.types import Seq, Tokens
from pairlight.layers.ragged import Ragged
from pairlight.text.tokenizer import TokenizedTexts

BATCH = 256
CELLS = 2**20  # of the grids of a batch, its padding counted in, so that memory has a bound where texts are long
HELD = 2**17  # words of readings that are held at a time
PAIRS = 1024  # that are scored together at least, so that there is something to sort by length
SELDOM = 0.8  # distinct texts per pair beyond which looking up a reading costs more than it saves

Read = Callable[[Tokens], Any]
Texts = NDArray[np.integer]


def tokens(encoded: TokenizedTexts, texts: Texts, device: torch.device) -> Tokens:
    """These texts as a model reads them."""
    rows = gather(encoded, texts)
    letters = None if encoded.spelling is None else torch.from_numpy(encoded.spelling).to(device)
    joins = None if rows.joins is None else torch.from_numpy(rows.joins).to(device)
    return Tokens(torch.from_numpy(rows.ids).to(device), torch.from_numpy(rows.mask).to(device), letters, joins)


def device_of(model: PairModel) -> torch.device:
    return next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))


@torch.no_grad()
def score_pairs(model: PairModel, encoded: TokenizedTexts, left: Texts, right: Texts) -> NDArray[np.float32]:
    """One score for each pair of text numbers."""
    disable_malloc_trim()
    model.eval()
    if isinstance(model, DualEncoder):
        again = [len(np.unique(side)) <= SELDOM * len(side) for side in (left, right)]
        if any(again):
            return _score_apart(model, encoded, (left, right), again)
    device = device_of(model)
    scores = np.empty(len(left), np.float32)
    for some in _batches(encoded.lengths[left], encoded.lengths[right]):
        found = model(tokens(encoded, left[some], device), tokens(encoded, right[some], device))
        scores[some] = found.float().cpu().numpy()
    return scores


@torch.no_grad()
def read_texts(read: Read, encoded: TokenizedTexts, texts: Texts, device: torch.device) -> Ragged:
    """What each of these texts is read as, in their order."""
    batches = by_length(encoded.lengths[texts], BATCH)
    found = Ragged.of([read(tokens(encoded, texts[some], device)) for some in batches])
    back = torch.from_numpy(np.argsort(np.concatenate(batches))).to(device)
    return Ragged(found.x, found.ids, found.start[back], found.lengths[back])


def fitting(lengths: Sequence[NDArray[np.int64]], most: int) -> int:
    """How many items from the first on, at least one, have side by side up to so many places: items x longest x .."""
    places = np.arange(1, len(lengths[0]) + 1)
    for each in lengths:
        places = places * np.maximum.accumulate(each)
    return max(1, int(np.searchsorted(places, most, "right")))


def _batches(left: NDArray[np.int64], right: NDArray[np.int64]) -> Iterator[Texts]:
    """Pairs of like size together, by the lengths of their texts: fewer where these are long."""
    for some in by_length(left * right, BATCH):
        while len(some):
            end = fitting([left[some], right[some]], CELLS)
            yield some[:end]
            some = some[end:]


def _score_apart(
    model: DualEncoder[Any], encoded: TokenizedTexts, sides: tuple[Texts, Texts], again: list[bool]
) -> NDArray[np.float32]:
    """Each distinct text of a side where texts come again is read once in a stretch of pairs."""
    device, lengths = device_of(model), encoded.lengths
    scores = np.empty(len(sides[0]), np.float32)
    for stretch in _stretches(lengths, [side for side, kept in zip(sides, again, strict=True) if kept], len(scores)):
        left, right = (side[stretch] for side in sides)
        u = _reader(model.left, encoded, left, device, again[0])
        v = _reader(model.right, encoded, right, device, again[1])
        for some in _batches(lengths[left], lengths[right]):
            scores[stretch.start + some] = model.match(u(some), v(some)).float().cpu().numpy()
    return scores


def _reader(
    read: Read, encoded: TokenizedTexts, texts: Texts, device: torch.device, again: bool
) -> Callable[[Texts], Seq | torch.Tensor]:
    """Gives the readings of some of these texts: looked up where texts come again, else read when asked for."""
    if not again:
        return lambda some: read(tokens(encoded, texts[some], device))
    distinct, place = np.unique(texts, return_inverse=True)
    held, at = read_texts(read, encoded, distinct, device), torch.from_numpy(place).to(device)
    return lambda some: held.pad(at[torch.from_numpy(some).to(device)])


def _stretches(lengths: NDArray[np.int64], kept: list[Texts], pairs: int) -> Iterator[slice]:
    """Runs of pairs, as long as the distinct texts in them have few enough words to hold."""
    start = 0
    while start < pairs:
        end = start + PAIRS
        while end < pairs:
            further = end + (end - start)
            if sum(lengths[np.unique(side[start:further])].sum() for side in kept) > HELD:
                break
            end = further
        yield slice(start, min(end, pairs))
        start = end
