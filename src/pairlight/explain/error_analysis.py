"""The worst mistakes of a model on labelled pairs, each explained and told by its kind."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pairlight.data.pairs import Floats, Pairs
from pairlight.core.errors import InputError
from pairlight.evaluation.evaluate import task_type
from pairlight.evaluation.labelled import best_threshold
from pairlight.evaluation.result import Kind
from pairlight.explain.data import Explanation
from pairlight.explain.render.html import Case

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

MistakeKind = Literal["no shared word", "negation", "number", "rare word", "long text", "other"]

COMMON = 0.1  # a word in more than this share of all texts says nothing by being shared, as "the" does
FEW = 10  # texts in which any word may stand without being common
LONG = 0.9  # a text is long where it has more words than this share of all texts

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|nobody|nothing|nowhere|without|cannot)\b|n['’]t\b|[不没沒无無未非别別]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Wrong:
    """A mistake as scores and labels tell it: the rows to be seen side by side, and what is to be said of them."""

    rows: tuple[int, ...]  # the last one is what the model got wrong: the right answer, or the pair
    about: str
    roles: tuple[str, ...]


def mistakes(
    matcher: "Matcher",
    pairs: Pairs,
    limit: int = 50,
    *,
    scores: Floats | None = None,
    kind: Kind | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Case]:
    """The `limit` worst mistakes, worst first; each is explained, and one without a kind of its own is of kind "other".

    In a ranking, a list is a mistake where a wrong answer stands first: it is shown beside the best right one, and the
    lower that stands the worse. Of labelled pairs those are mistakes which lie on the wrong side of the threshold, and
    the further the worse. `scores` saves scoring the pairs again, `kind` is that of `evaluate`.
    """
    if limit < 1:
        raise InputError(f"limit={limit} mistakes are none: ask for 1 or more.")
    scores = matcher.predict(pairs) if scores is None else scores
    if (kind or task_type(pairs)) == "ranking":
        found, symmetric = ranked_low(pairs, scores), False
    else:
        found, symmetric = called_wrong(pairs, scores, threshold_of(matcher, pairs, scores)), True
    text = Texts(matcher, pairs)
    readable = [wrong for wrong in found if all(text.words[side[row]] for row in wrong.rows for side in text.sides)]
    cases = []
    for wrong in readable[:limit]:
        explained = tuple(matcher.explain(*text.of(row)) for row in wrong.rows)
        kinds = text.kinds(wrong.rows[-1], explained[-1], symmetric)
        cases.append(Case(explained, wrong.about, wrong.roles, kinds))
        if progress is not None:
            progress(len(cases) / min(limit, len(readable)))
    return cases


def ranked_low(pairs: Pairs, scores: Floats) -> list[Wrong]:
    """Lists with a wrong answer on top, the one with the lowest best answer first; equal scores count as wrong."""
    found = []
    for rows in np.split(np.argsort(pairs.group, kind="stable"), np.cumsum(np.bincount(pairs.group))[:-1]):
        order = rows[np.lexsort((pairs.labels[rows] > 0, -scores[rows]))]
        right = np.flatnonzero(pairs.labels[order] > 0)
        if len(right) and right[0] > 0:
            place, first, best = int(right[0]) + 1, int(order[0]), int(order[right[0]])
            gap = float(scores[first] - scores[best])
            about = f"The right answer is ranked {place} of {len(rows)}, {gap:.3g} below the first."
            roles = ("Ranked first, and wrong", f"The right answer, ranked {place}")
            found.append((place, gap, Wrong((first, best), about, roles)))
    return [wrong for _, _, wrong in sorted(found, key=lambda each: (-each[0], -each[1], each[2].rows))]


def threshold_of(matcher: "Matcher", pairs: Pairs, scores: Floats) -> float:
    """The model's own, else the one that suits these pairs; grades without a match or a miss leave none wrong."""
    if matcher.calibration is not None:
        return matcher.calibration.threshold
    right = pairs.labels > 0
    if right.all() or not right.any():
        return -np.inf if right.all() else np.inf
    return best_threshold(scores, right)


def called_wrong(pairs: Pairs, scores: Floats, cut: float) -> list[Wrong]:
    """Pairs on the wrong side of a threshold, the furthest first."""
    right = pairs.labels > 0
    scores = scores.astype(np.float64)  # a threshold just above the highest score would be rounded down to it
    rows = np.flatnonzero((scores >= cut) != right)
    found = []
    for row in rows[np.argsort(-np.abs(scores[rows] - cut), kind="stable")].tolist():
        gap = abs(float(scores[row]) - cut)
        role = "A match, missed" if right[row] else "Called a match, and none"
        where = "below" if right[row] else "above"
        found.append(Wrong((row,), f"{role}: {gap:.3g} {where} the threshold of {cut:.3g}.", (role,)))
    return found


class Texts:
    """The texts of a table, as kinds of mistakes need to see them."""

    def __init__(self, matcher: "Matcher", pairs: Pairs) -> None:
        _, tokenizer = matcher.ready
        self.pairs = pairs
        self.sides = pairs.left, pairs.right
        self.words = [tokenizer.split(text) for text in pairs.texts]
        often = Counter(word for words in self.words for word in set(words))
        self.common = {word for word, texts in often.items() if texts > max(FEW, COMMON * len(self.words))}
        lengths = [len(words) for words in self.words]
        self.long = float(np.quantile(lengths, LONG)) if lengths else 0.0

    def of(self, row: int) -> tuple[str, str]:
        left, right = (self.pairs.texts[side[row]] for side in self.sides)
        return left, right

    def kinds(self, row: int, explained: Explanation, symmetric: bool) -> tuple[MistakeKind, ...]:
        """What may have made this pair hard; `symmetric` where neither text is a question to the other."""
        left, right = self.of(row)
        words = [self.words[side[row]] for side in self.sides]
        telling = [{word for word in each if word not in self.common and word[0].isalnum()} for each in words]
        numbers = [set(_NUMBER.findall(text)) for text in (left, right)]
        lacking = numbers[0] ^ numbers[1] if symmetric else numbers[0] - numbers[1]
        sides = [explained.left, explained.right] if symmetric else [explained.left]
        unknown = any(not word.known and word.text[0].isalpha() for side in sides for word in side.words)
        cut = explained.left.cut + explained.right.cut
        holds: dict[MistakeKind, bool] = {
            "no shared word": not telling[0] & telling[1],
            "negation": bool(_NEGATION.search(left)) != bool(_NEGATION.search(right)),
            "number": bool(lacking),
            "rare word": unknown,
            "long text": cut > 0 or max(map(len, words)) > self.long,
        }
        return tuple(kind for kind, true in holds.items() if true) or ("other",)
