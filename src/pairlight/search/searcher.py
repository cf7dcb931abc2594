"""Two-stage search: candidates from a first stage, reranked by a model, with a blend of both scores."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError
from pairlight.inference.scorer import Scorer
from pairlight.inference.windows import Passage, passages_of, words_read
from pairlight.search.documents import Where
from pairlight.search.first_stage import Candidate, FirstStage
from pairlight.search.manifest import WEIGHT
from pairlight.search.passages import ScoredPassages, score_passages
from pairlight.search.results import SearchHit, SearchResults, StageSeconds
from pairlight.text.checks import check_text

TOP, FIRST = 10, 100


@dataclass(frozen=True)
class ScoredCandidates:
    """The candidates of a query with the model's scores, if there is a model, and how long each stage took."""

    candidates: list[Candidate]
    passages: ScoredPassages | None
    seconds: StageSeconds


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
        scored = self.scored(query, first, where)
        first_scores = [each.score for each in scored.candidates]
        model_scores = None if scored.passages is None else scored.passages.scores.tolist()
        scores = blended(first_scores, model_scores, self.weight)
        lowest = self.threshold if threshold is None else threshold
        deciding = first_scores if model_scores is None else model_scores
        best = [i for i in np.argsort(-scores, kind="stable").tolist() if lowest is None or deciding[i] >= lowest]
        hits = [self._hit(scored, i, float(scores[i])) for i in best[offset : offset + top]]
        return SearchResults(query, hits, len(scored.candidates), scored.seconds, *self._truncated(query, hits))

    def scored(self, query: str, first: int = FIRST, where: Where | None = None) -> ScoredCandidates:
        """The candidates of the first stage with the scores of the model, in the order of the first stage."""
        started = time.perf_counter()
        candidates = self.first_stage.candidates(query, first, where)
        found = time.perf_counter()
        passages = None
        if self.scorer is not None and candidates:
            passages = score_passages(self.scorer, query, [each.document for each in candidates])
        return ScoredCandidates(candidates, passages, StageSeconds(found - started, time.perf_counter() - found))

    def _truncated(self, query: str, hits: Sequence[SearchHit]) -> tuple[int, list[str]]:
        """How many of these texts the model has not read to the end, and which, in words."""
        if self.scorer is None:
            return 0, []
        tokenizer, of_query, of_hit = self.scorer.tokenizer, self.scorer.left_length, words_read(self.scorer)
        warnings = []
        queries = tokenizer.tokenize([query], of_query).truncated
        if queries:
            warnings.append(f"The query has more than {of_query} words and was truncated for the model.")
        long = [hit.text for hit in hits if hit.passage.text != hit.text]  # others are read as a whole
        cut = tokenizer.tokenize(long, of_hit).truncated if long else 0
        if cut:
            warnings.append(
                f"{cut} of {len(hits)} hits have more than {of_hit} words and were truncated for the model."
            )
        return queries + cut, warnings

    def _hit(self, scored: ScoredCandidates, i: int, score: float) -> SearchHit:
        candidate, document = scored.candidates[i], scored.candidates[i].document
        passage, model_score = Passage(document.text, 0, len(document.text)), None
        if scored.passages is not None and self.scorer is not None:
            model_score = float(scored.passages.scores[i])
            (passage,) = passages_of(self.scorer, [document.text], [replace(scored.passages.windows[i], text=0)])
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
