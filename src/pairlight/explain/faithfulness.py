"""Whether explanations tell the truth: the words they rank highest are deleted, and the score must fall."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.explain.data import Explanation
from pairlight.explain.attribution import joins_without
from pairlight.models.base import PairModel
from pairlight.inference.scoring import score_pairs
from pairlight.text.tokenizer import TokenizedTexts

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

By = Literal["leave-one-out", "integrated-gradients", "mechanism"]
Order = NDArray[np.intp]  # words, the highest ranked first
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the words of the right text


@dataclass(frozen=True)
class Deletion:
    """How far the score falls, on average, as more and more of the highest ranked words are deleted."""

    by: By
    falls: tuple[float, ...]  # for each of SHARES: score - score without these words, the mean over pairs
    random: tuple[float, ...]  # the same with as many words of the same pairs, drawn at random
    pairs: int  # that could be explained this way
    error: float  # standard error of area - random_area, which are compared pair by pair; one pair tells nothing of it

    @property
    def area(self) -> float:
        """The mean fall: the area between the deletion curve and the whole score. The larger, the more faithful."""
        return float(np.mean(self.falls))

    @property
    def random_area(self) -> float:
        return float(np.mean(self.random))

    @property
    def faithful(self) -> bool:
        """Whether the score falls further than with random words, by more than chance explains."""
        return self.area - self.random_area > 2 * self.error


def deletion_curves(
    matcher: "Matcher",
    pairs: Sequence[tuple[str, str]],
    *,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> dict[By, Deletion]:
    """For each kind of explanation that the model allows: delete the right words it ranks highest, and score again.

    Right words only: who takes away both words of a match loses it once and has spent two. Words of equal rank, as all
    are that an explanation does not name, are deleted in the random order that every kind must beat.
    """
    if not pairs:
        raise InputError("There are no pairs to delete words of: give one or more.")
    model, tokenizer = matcher.ready
    rng = np.random.default_rng(seed)
    texts = [*(text for pair in pairs for text in pair), ""]
    encoded = tokenizer.encode(texts, matcher.options.max_length, parses=model.parses)
    chance = [rng.random(length) for length in encoded.lengths[1::2]]
    orders: dict[By, dict[int, Order]] = {by: {} for by in get_args(By)}
    for number, pair in enumerate(pairs):
        explained = matcher.explain(*pair)
        for by, found in orders.items():
            worth = right_worth(explained, by)
            if worth is not None:
                found[number] = np.lexsort((chance[number], -np.array(worth)))
        if progress is not None:
            progress((number + 1) / len(pairs))
    at_random = _falls(model, encoded, {number: each.argsort() for number, each in enumerate(chance)})
    curves: dict[By, Deletion] = {}
    for by, found in orders.items():
        if found:
            falls, random = _falls(model, encoded, found), at_random[list(found)]
            ahead = (falls - random).mean(1)
            error = float(ahead.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else math.inf
            curves[by] = Deletion(by, _means(falls), _means(random), len(found), error)
    return curves


def right_worth(it: Explanation, by: By) -> list[float] | None:
    """What an explanation says each right word is worth; None where it does not say.

    The mechanism of a model with a grid speaks by its cells, that of others by what its tables say of right words.
    """
    if by != "mechanism":
        found = it.by(by)
        return None if found is None else list(found.right)
    columns = [(it.grids[cell.grid].columns[cell.j], cell.adds) for cell in it.cells]
    named = [(tuple(range(column.first, column.end)), adds) for column, adds in columns]
    named = named or [(fact.right, fact.adds) for table in it.tables for fact in table.facts]
    worth = [0.0] * len(it.right.words)
    for words, adds in named:
        for word in words:
            worth[word] += (adds or 0.0) / len(words)
    return worth if any(words for words, _ in named) else None


def _falls(model: PairModel, encoded: TokenizedTexts, orders: dict[int, Order]) -> NDArray[np.float64]:
    """How far the score of each pair falls without the first words of an order.   [pairs, SHARES]

    Pair number p is texts 2p and 2p + 1, and the last text is the empty one as a model reads it. All are scored in one
    go.
    """
    spans = [slice(a, b) for a, b in pairwise(encoded.start)]
    texts, shorter = [encoded.ids[span] for span in spans], []
    joins: list[NDArray[np.int32]] = []
    for number, order in orders.items():
        right = texts[2 * number + 1]
        for share in (0.0, *SHARES):
            gone = order[: round(share * len(right))]
            kept = np.delete(right, gone)
            shorter.append(kept if len(kept) else texts[-1])
            if encoded.joins is not None:
                joins.append(joins_without(encoded.joins[spans[2 * number + 1]], set(gone.tolist())))
    start = np.cumsum([0, *map(len, texts), *map(len, shorter)])
    parses = None if encoded.joins is None else np.concatenate([encoded.joins, *joins])
    both = TokenizedTexts(np.concatenate([*texts, *shorter]), start, 0, encoded.spelling, parses)
    lefts = np.repeat(2 * np.array(list(orders)), 1 + len(SHARES))
    scores = score_pairs(model, both, lefts, len(texts) + np.arange(len(shorter))).astype(float)
    whole, *rest = scores.reshape(len(orders), -1).T
    return np.stack([whole - each for each in rest], 1)


def _means(falls: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(falls.mean(0).tolist())
