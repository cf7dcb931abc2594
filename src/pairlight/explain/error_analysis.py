"""The worst errors of a model on labeled pairs, each with its explanation and its likely causes."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.pairs import Floats, Pairs
from pairlight.evaluation.calibration import Calibration, fit_label_scale
from pairlight.evaluation.classification import best_threshold, has_grades
from pairlight.evaluation.evaluate import task_type
from pairlight.evaluation.metrics import TaskType
from pairlight.evaluation.validation import Column
from pairlight.explain.data import Explanation, ReportCase
from pairlight.explain.explain import explain_pair
from pairlight.inference.scorer import ModelScorer
from pairlight.text.vocabulary import AnyTokenizer

ErrorCategory = Literal["no shared word", "negation", "number", "rare word", "long text", "other"]

COMMON_SHARE = 0.1  # words in more than this share of the texts, like "the", do not count as shared words
MIN_COMMON = 10  # a word in at most this many texts is never common
LONG_QUANTILE = 0.9  # a text is long if it has more words than this share of the texts

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|nobody|nothing|nowhere|without|cannot)\b|n['’]t\b|[不没沒无無未非别別]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class ModelError:
    """An error of a model: the rows to show side by side, a description, and a heading for each row."""

    rows: tuple[int, ...]  # the last one is the pair that was scored wrongly: the best positive of a list, or the pair
    description: str
    roles: tuple[str, ...]


def error_analysis(
    scorer: ModelScorer,
    pairs: Pairs,
    limit: int = 50,
    *,
    scores: Floats | None = None,
    task: TaskType | None = None,
    calibration: Calibration | None = None,
    progress: Progress | None = None,
) -> list[ReportCase]:
    """Explain the `limit` worst errors, worst first, and assign categories to them.

    In a ranking, a list is an error if a negative is ranked first. It is shown next to the best positive, and the error
    is worse the lower that is ranked. For labeled pairs, an error is a score on the wrong side of the threshold, and it
    is worse the farther it is from it; for graded labels, it is the distance of the predicted label. `scores` are the
    scores of the pairs, if already known; the default `task` is that of `task_type`.
    """
    if limit < 1:
        raise InputError(f"limit={limit} must be at least 1.", option="limit")
    scores = scorer.score_pairs(pairs) if scores is None else scores
    is_ranking = (task or task_type(pairs)) == "ranking"
    if is_ranking:
        errors = ranking_errors(pairs, scores)
    elif has_grades(pairs.labels):
        errors = graded_errors(pairs, predicted_labels(calibration, pairs, scores))
    else:
        errors = classification_errors(pairs, scores, error_threshold(calibration, pairs, scores))
    categorizer = ErrorCategorizer(scorer.tokenizer, pairs)
    errors = [error for error in errors if categorizer.has_words(error)][:limit]
    cases = []
    for error in errors:
        texts = [categorizer.texts(row) for row in error.rows]
        explanations = tuple(explain_pair(scorer, *pair, calibration=calibration) for pair in texts)
        categories = categorizer.categories(error.rows[-1], explanations[-1], symmetric=not is_ranking)
        cases.append(ReportCase(explanations, error.description, error.roles, categories))
        if progress is not None:
            progress(len(cases) / len(errors))
    return cases


def ranking_errors(pairs: Pairs, scores: Floats) -> list[ModelError]:
    """Lists with a negative ranked first, those with the lowest best positive first; a tie counts as an error."""
    found = []
    for rows in np.split(np.argsort(pairs.group, kind="stable"), np.cumsum(np.bincount(pairs.group))[:-1]):
        order = rows[np.lexsort((pairs.labels[rows] > 0, -scores[rows]))]
        positives = np.flatnonzero(pairs.labels[order] > 0)
        if len(positives) and positives[0] > 0:
            rank, first, best = int(positives[0]) + 1, int(order[0]), int(order[positives[0]])
            gap = float(scores[first] - scores[best])
            description = f"The best positive is ranked {rank} of {len(rows)}, {gap:.3g} below the first."
            roles = ("Negative, ranked first", f"Best positive, ranked {rank}")
            found.append((rank, gap, ModelError((first, best), description, roles)))
    return [error for _, _, error in sorted(found, key=lambda each: (-each[0], -each[1], each[2].rows))]


def error_threshold(calibration: Calibration | None, pairs: Pairs, scores: Floats) -> float:
    """The threshold of the calibration, otherwise the best one on these pairs.

    If all pairs are positive, or none is, no pair counts as an error.
    """
    if calibration is not None and calibration.threshold is not None:
        return calibration.threshold
    positive = pairs.labels > 0
    if positive.all() or not positive.any():
        return -np.inf if positive.all() else np.inf
    return best_threshold(scores, positive)


def classification_errors(pairs: Pairs, scores: Floats, threshold: float) -> list[ModelError]:
    """Pairs on the wrong side of the threshold, those farthest from it first."""
    positive = pairs.labels > 0
    scores = scores.astype(np.float64)  # in float32, a threshold just above the highest score would round down to it
    rows = np.flatnonzero((scores >= threshold) != positive)
    found = []
    for row in rows[np.argsort(-np.abs(scores[rows] - threshold), kind="stable")].tolist():
        gap = abs(float(scores[row]) - threshold)
        role, side = ("False negative", "below") if positive[row] else ("False positive", "above")
        description = f"{role}: {gap:.3g} {side} the threshold of {threshold:.3g}."
        found.append(ModelError((row,), description, (role,)))
    return found


def predicted_labels(calibration: Calibration | None, pairs: Pairs, scores: Floats) -> Column:
    """The graded labels that scores stand for, on the scale of the calibration, otherwise on that of these pairs."""
    scale = None if calibration is None else calibration.label_scale
    return (scale or fit_label_scale(scores, pairs.labels)).label(scores)


def graded_errors(pairs: Pairs, predicted: Column) -> list[ModelError]:
    """Pairs by the distance of the predicted from the given label, the largest first."""
    gaps = predicted - pairs.labels
    found = []
    for row in np.argsort(-np.abs(gaps), kind="stable").tolist():
        side = "above" if gaps[row] > 0 else "below"
        description = f"The predicted label {predicted[row]:.3g} is {abs(gaps[row]):.3g} {side} the label."
        found.append(ModelError((row,), description, (f"Label {pairs.labels[row]:g}, predicted {predicted[row]:.3g}",)))
    return found


class ErrorCategorizer:
    """Finds likely causes of errors from the words of all texts of a table."""

    def __init__(self, tokenizer: AnyTokenizer, pairs: Pairs) -> None:
        self.pairs = pairs
        self.words = [tokenizer.split(text) for text in pairs.texts]
        frequency = Counter(word for words in self.words for word in set(words))
        self.common = {
            word for word, count in frequency.items() if count > max(MIN_COMMON, COMMON_SHARE * len(self.words))
        }
        lengths = [len(words) for words in self.words]
        self.long = float(np.quantile(lengths, LONG_QUANTILE)) if lengths else 0.0

    def texts(self, row: int) -> tuple[str, str]:
        """The left and the right text of a row."""
        return self.pairs.texts[self.pairs.left[row]], self.pairs.texts[self.pairs.right[row]]

    def has_words(self, error: ModelError) -> bool:
        """Whether all texts of an error have words, so that they can be explained."""
        return all(words for row in error.rows for words in self._words(row))

    def categories(self, row: int, explanation: Explanation, symmetric: bool) -> tuple[ErrorCategory, ...]:
        """The categories of a pair; `symmetric` if neither text is a query that the other one answers."""
        left, right = self.texts(row)
        words = self._words(row)
        content = [{word for word in side if word not in self.common and word[0].isalnum()} for side in words]
        numbers = [set(_NUMBER.findall(text)) for text in (left, right)]
        missing = numbers[0] ^ numbers[1] if symmetric else numbers[0] - numbers[1]
        views = [explanation.left, explanation.right] if symmetric else [explanation.left]
        unknown = any(not word.known and word.text[0].isalpha() for view in views for word in view.words)
        truncated = explanation.left.truncated + explanation.right.truncated
        applies: dict[ErrorCategory, bool] = {
            "no shared word": not content[0] & content[1],
            "negation": bool(_NEGATION.search(left)) != bool(_NEGATION.search(right)),
            "number": bool(missing),
            "rare word": unknown,
            "long text": truncated > 0 or max(map(len, words)) > self.long,
        }
        return tuple(category for category, holds in applies.items() if holds) or ("other",)

    def _words(self, row: int) -> tuple[list[str], list[str]]:
        return self.words[self.pairs.left[row]], self.words[self.pairs.right[row]]
