"""Measures the faithfulness of explanations: deleting the words they rank highest must lower the score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.explain.data import Explanation
from pairlight.explain.explain import explain_pair, text_view, words_of_tokens
from pairlight.explain.removal import Words, texts_without
from pairlight.inference.scorer import ModelScorer, Scorer
from pairlight.text.tokenizer import TokenizedTexts

RankingMethod = Literal["leave-one-out", "integrated-gradients", "mechanism"]
WordOrder = NDArray[np.intp]  # word numbers, the highest ranked first
DELETED_FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the words of the right text


@dataclass(frozen=True)
class DeletionCurve:
    """How much the score drops on average as more of the highest ranked words are deleted."""

    method: RankingMethod
    drops: tuple[float, ...]  # mean of score - score after deletion, for each of DELETED_FRACTIONS
    random_drops: tuple[float, ...]  # the same for random words of the same pairs
    pairs: int  # pairs that have an explanation by this method
    error: float | None  # standard error of area - random_area over pairs; None for a single pair

    @property
    def area(self) -> float:
        """The mean drop, which is the area above the deletion curve: the larger, the more faithful."""
        return float(np.mean(self.drops))

    @property
    def random_area(self) -> float:
        return float(np.mean(self.random_drops))

    @property
    def better_than_random(self) -> bool:
        """Whether the score drops more than for random words, by more than two standard errors."""
        return self.error is not None and self.area - self.random_area > 2 * self.error


def deletion_curves(
    scorer: ModelScorer, pairs: Sequence[tuple[str, str]], *, seed: int = 1, progress: Progress | None = None
) -> dict[RankingMethod, DeletionCurve]:
    """Delete the highest ranked words of the right texts and score again, for each method that the model supports.

    Only right words are deleted, because the second word of a match has no effect after the first is gone. Ties, such
    as all words that an explanation does not mention, are broken by the random order that is also the baseline.
    """
    if not pairs:
        raise InputError("There are no pairs to delete words from: give at least one.", option="pairs")
    rng = np.random.default_rng(seed)
    texts = scorer.token_ids([*(text for pair in pairs for text in pair), ""])
    views = [
        text_view(scorer, text, side) for pair in pairs for text, side in zip(pair, ("left", "right"), strict=True)
    ]
    tokens = words_of_tokens(scorer, texts, views)
    counts = texts.lengths if tokens[0] is None else [max(words) + 1 for words in _kept(tokens[0], texts)]
    random = [rng.random(count) for count in counts[1 : 2 * len(pairs) : 2]]
    orders: dict[RankingMethod, dict[int, WordOrder]] = {method: {} for method in get_args(RankingMethod)}
    for number, pair in enumerate(pairs):
        explanation = explain_pair(scorer, *pair)
        for method, order in orders.items():
            values = right_word_values(explanation, method)
            if values is not None:
                order[number] = np.lexsort((random[number], -np.array(values)))
        if progress is not None:
            progress((number + 1) / len(pairs))
    random_drops = _score_drops(scorer, texts, tokens, {number: each.argsort() for number, each in enumerate(random)})
    curves: dict[RankingMethod, DeletionCurve] = {}
    for method, order in orders.items():
        if order:
            drops, baseline = _score_drops(scorer, texts, tokens, order), random_drops[list(order)]
            gains = (drops - baseline).mean(1)
            error = float(gains.std(ddof=1) / np.sqrt(len(order))) if len(order) > 1 else None
            curves[method] = DeletionCurve(method, _means(drops), _means(baseline), len(order), error)
    return curves


def right_word_values(explanation: Explanation, method: RankingMethod) -> list[float] | None:
    """The contribution of each right word according to a method; None if the explanation has none.

    The method "mechanism" uses the top cells, or the tables of a model without a grid.
    """
    if method != "mechanism":
        found = explanation.contributions_by(method)
        return None if found is None else list(found.right)
    cells = [(explanation.grids[cell.grid].columns[cell.j], cell.contribution) for cell in explanation.cells]
    ranked = [(tuple(range(column.first, column.end)), contribution) for column, contribution in cells]
    ranked = ranked or [(fact.right, fact.contribution) for table in explanation.tables for fact in table.facts]
    values = [0.0] * len(explanation.right.words)
    for words, contribution in ranked:
        for word in words:
            values[word] += (contribution or 0.0) / len(words)
    return values if any(words for words, _ in ranked) else None


def _kept(words: Sequence[Words], texts: TokenizedTexts) -> list[Words]:
    """The words of the tokens that were not truncated."""
    return [each[:length] for each, length in zip(words, texts.lengths.tolist(), strict=False)]


def _score_drops(
    scorer: Scorer,
    texts: TokenizedTexts,
    words: tuple[Sequence[Words] | None, Sequence[Words] | None],
    orders: dict[int, WordOrder],
) -> NDArray[np.float64]:
    """How much the score of each pair drops without the first words of its order.   [pairs, DELETED_FRACTIONS]

    Pair p is texts 2p and 2p + 1. The last text is the empty text. All texts are scored in one call.
    """
    removals = [
        (2 * number + 1, order[: round(fraction * len(order))].tolist())
        for number, order in orders.items()
        for fraction in (0.0, *DELETED_FRACTIONS)
    ]
    without = texts_without(texts, removals, *words)
    left = np.repeat(2 * np.array(list(orders)), 1 + len(DELETED_FRACTIONS))
    scores = scorer.score_tokenized(without, left, len(texts) - 1 + np.arange(len(removals))).astype(float)
    whole, *rest = scores.reshape(len(orders), -1).T
    return np.stack([whole - each for each in rest], 1)


def _means(drops: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(drops.mean(0).tolist())
