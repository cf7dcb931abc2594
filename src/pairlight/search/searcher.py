"""Two-stage search: candidates from a first stage, reranked by a model, with a blend of both scores."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError
from pairlight.inference.scorer import Scorer
from pairlight.search.documents import Where
from pairlight.search.first_stage import Candidate, FirstStage
from pairlight.search.manifest import WEIGHT
from pairlight.search.passages import ScoredPassages, passage_of, score_passages
from pairlight.search.results import Passage, SearchHit, SearchResults, StageSeconds
from pairlight.text.checks import check_text

TOP, FIRST = 10, 100


class Searcher:
    """Searches with any first stage and reranks with any scorer; without one, the first stage decides.

    `weight` is the model's part in the blend. Hits whose model score is below `threshold` (the first stage's score
    where there is no model) are left out.
    """

    def __init__(
        self,
        first_stage: FirstStage,
        scorer: Scorer | None = None,
        *,
        weight: float = WEIGHT,
        threshold: float | None = None,
    ) -> None:
        if not 0 <= weight <= 1:
            raise InputError(f"The weight of the model is {weight}: use a number from 0 to 1.", option="weight")
        self.first_stage, self.scorer, self.weight, self.threshold = first_stage, scorer, weight, threshold

    def search(
        self,
        query: str,
        top: int = TOP,
        first: int = FIRST,
        where: Where | None = None,
        offset: int = 0,
        threshold: float | None = None,
    ) -> SearchResults:
        """The best documents for a query: `first` candidates are ranked, `top` of them from `offset` on are returned.

        `where` keeps documents whose fields have these values: `{"lang": "en"}`, or one of several in a list.
        `threshold` replaces that of the searcher; minus infinity returns everything.
        """
        check_text("query", query)
        if top < 1 or offset < 0 or first < 1:
            raise InputError(f"top={top}, first={first} and offset={offset}: use 1 or more, and an offset from 0 on.")
        if offset + top > first:
            raise InputError(
                f"Results {offset + 1} to {offset + top} are wanted, and only {first} candidates are ranked: use a "
                f"first of at least {offset + top}.",
                option="first",
            )
        started = time.perf_counter()
        candidates = self.first_stage.candidates(query, first, where)
        found = time.perf_counter()
        passages = self._passages(query, candidates)
        scores = blended(
            [each.score for each in candidates], None if passages is None else passages.scores, self.weight
        )
        lowest = self.threshold if threshold is None else threshold
        deciding = [each.score for each in candidates] if passages is None else passages.scores.tolist()
        best = [i for i in np.argsort(-scores, kind="stable").tolist() if lowest is None or deciding[i] >= lowest]
        hits = [self._hit(candidates[i], float(scores[i]), passages, i) for i in best[offset : offset + top]]
        seconds = StageSeconds(found - started, time.perf_counter() - found)
        return SearchResults(query, hits, len(candidates), seconds)

    def _passages(self, query: str, candidates: Sequence[Candidate]) -> ScoredPassages | None:
        if self.scorer is None or not candidates:
            return None
        return score_passages(self.scorer, query, [each.document.text for each in candidates])

    def _hit(self, candidate: Candidate, score: float, passages: ScoredPassages | None, i: int) -> SearchHit:
        document = candidate.document
        passage = Passage(document.text, 0, len(document.text))
        if passages is not None and self.scorer is not None and not passages.whole[i]:
            passage = passage_of(self.scorer, document.text, passages.start[i], passages.end[i])
        model_score = None if passages is None else float(passages.scores[i])
        return SearchHit(document.id, document.text, document.fields, score, candidate.score, model_score, passage)


def blended(first: ArrayLike, model: ArrayLike | None, weight: float) -> NDArray[np.float64]:
    """(1 - weight) · first + weight · model, each normalised over the candidates; `first` itself without a model."""
    if model is None:
        return np.asarray(first, np.float64)
    return (1 - weight) * normalised(first) + weight * normalised(model)


def normalised(scores: ArrayLike) -> NDArray[np.float64]:
    """Scores from 0, the lowest, to 1, the highest; 1 where all are equal."""
    x = np.asarray(scores, np.float64)
    if not len(x) or x.max() == x.min():
        return np.ones(len(x))
    scaled: NDArray[np.float64] = (x - x.min()) / (x.max() - x.min())
    return scaled
