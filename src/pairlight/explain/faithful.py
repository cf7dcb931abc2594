"""Whether explanations tell the truth: the words they rank highest are deleted, and the score must fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pairlight.errors import InputError
from pairlight.explain.explanation import Explanation
from pairlight.models.scoring import score_pairs
from pairlight.text.tokenizer import Encoded

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

By = Literal["leave-one-out", "integrated-gradients", "cells", "random"]
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the words of the right text


@dataclass(frozen=True)
class Deletion:
    """How far the score falls, on average, as more and more of the highest ranked words are deleted."""

    by: By
    shares: tuple[float, ...]
    falls: tuple[float, ...]  # score of the pair - score without that share of its words, the mean over pairs
    pairs: int  # that could be explained this way

    @property
    def area(self) -> float:
        """The mean fall: the area above the deletion curve. The larger, the more faithful."""
        return float(np.mean(self.falls))


def deletion_curve(
    matcher: "Matcher", pairs: Sequence[tuple[str, str]], by: By = "leave-one-out", *, seed: int = 1
) -> Deletion:
    """Delete the right words that an explanation ranks highest, and see how far the score falls.

    Right words only: who takes away both words of a match loses it once and has spent two. `cells` ranks a word by
    what the cells it stands in add; `random` is what all must beat.
    """
    if by not in get_args(By):
        raise InputError(f"by={by!r} is none of {', '.join(get_args(By))}.")
    model, tokenizer = matcher.ready
    rng = np.random.default_rng(seed)
    encoded = tokenizer.encode([text for pair in pairs for text in pair], matcher.options.max_length)
    empty = tokenizer.encode([""], 1).ids
    texts: list[NDArray[np.int32]] = []
    for row, (left, right) in enumerate(pairs):
        u, v = (encoded.ids[encoded.start[t] : encoded.start[t + 1]] for t in (2 * row, 2 * row + 1))
        worth = rng.random(len(v)).tolist() if by == "random" else right_worth(matcher.explain(left, right), by)
        if worth is None:
            continue
        order = np.argsort(-np.array(worth), kind="stable")
        for share in (0.0, *SHARES):
            kept = np.delete(v, order[: round(share * len(v))])
            texts += [u, kept if len(kept) else empty]
    if not texts:
        raise InputError(f"None of the {len(pairs)} pairs can be explained by {by} with {matcher.name}.")
    start = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    lefts = np.arange(0, len(texts), 2)
    shorter = Encoded(np.concatenate(texts), start, 0, encoded.spelling)
    scores = score_pairs(model, shorter, lefts, lefts + 1).reshape(-1, 1 + len(SHARES))
    falls = (scores[:, :1] - scores[:, 1:]).mean(0)
    return Deletion(by, SHARES, tuple(falls.tolist()), len(scores))


def right_worth(it: Explanation, by: By) -> list[float] | None:
    """What an explanation says each right word is worth; None where it does not say."""
    if by == "leave-one-out" or by == "integrated-gradients":
        found = it.by(by)
        return None if found is None else list(found.right)
    worth = [0.0] * len(it.right.words)
    for cell in it.cells:
        column = it.grids[cell.grid].columns[cell.j]
        for word in range(column.first, column.end):
            worth[word] += (cell.adds or 0.0) / (column.end - column.first)
    return worth if it.cells else None
