"""Evaluates an index on queries with relevance judgments, and learns the blend and the threshold on dev queries."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.evaluation.calibration import fit_calibration
from pairlight.search.documents import Relevance
from pairlight.search.index import Index
from pairlight.search.manifest import WEIGHT
from pairlight.search.searcher import FIRST, blended

WEIGHTS = tuple(round(0.05 * step, 2) for step in range(21))
DEPTH = 10  # of MRR and nDCG
FIRST_STAGE, MODEL, BLEND = "first stage", "model", "blend"


@dataclass(frozen=True)
class ScoredQuery:
    """The candidates of a query with the scores of both stages, and how long the search took."""

    ids: list[str]
    first: NDArray[np.float64]
    model: NDArray[np.float64] | None
    seconds: float

    def ranking(self, by: str, weight: float = WEIGHT) -> list[str]:
        """The ids, best first, by the first stage, the model or the blend."""
        if by == FIRST_STAGE or self.model is None:
            scores = self.first
        else:
            scores = self.model if by == MODEL else blended(self.first, self.model, weight)
        return [self.ids[i] for i in np.argsort(-scores, kind="stable").tolist()]


@dataclass(frozen=True)
class StageMetrics:
    """Means over all queries that have a positive."""

    recall: float  # of all candidates
    mrr: float  # MRR@10
    ndcg: float  # nDCG@10


@dataclass(frozen=True)
class IndexEvaluation:
    """How well an index answers queries, by stage, and how long a query takes in milliseconds."""

    stages: dict[str, StageMetrics]
    queries: int
    first: int
    weight: float
    p50: float
    p99: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class IndexTuning:
    """What was learnt on dev queries: MRR@10 at each weight of the model, the best one, and the threshold."""

    weight: float
    threshold: float | None
    mrr: dict[float, float]
    queries: int


def score_queries(
    index: Index,
    queries: Mapping[str, str],
    *,
    first: int = FIRST,
    first_stage: str | None = None,
    progress: Progress | None = None,
) -> dict[str, ScoredQuery]:
    """Search for every query, and keep all candidates with both scores."""
    searcher = index.searcher(first_stage)
    scored = {}
    for done, (name, query) in enumerate(queries.items(), 1):
        found = searcher.scored(query, first)
        scored[name] = ScoredQuery(
            [each.document.id for each in found.candidates],
            np.array([each.score for each in found.candidates]),
            None if found.passages is None else found.passages.scores.astype(np.float64),
            found.seconds.total,
        )
        if progress is not None:
            progress(done / len(queries))
    return scored


def evaluate_index(
    index: Index,
    queries: Mapping[str, str],
    relevance: Relevance,
    *,
    first: int = FIRST,
    first_stage: str | None = None,
    progress: Progress | None = None,
) -> IndexEvaluation:
    """Measure the first stage, the model that reranks it, and their blend."""
    judged = _judged(queries, relevance)
    scored = score_queries(index, judged, first=first, first_stage=first_stage, progress=progress)
    weight = index.searcher(first_stage).weight
    stages = (FIRST_STAGE,) if index.matcher is None else (FIRST_STAGE, MODEL, BLEND)
    metrics = {
        by: stage_metrics({name: each.ranking(by, weight) for name, each in scored.items()}, relevance) for by in stages
    }
    p50, p99 = np.quantile([1000 * each.seconds for each in scored.values()], [0.5, 0.99]).tolist()
    return IndexEvaluation(metrics, len(judged), first, weight, p50, p99)


def tune_index(
    index: Index,
    queries: Mapping[str, str],
    relevance: Relevance,
    *,
    first: int = FIRST,
    progress: Progress | None = None,
) -> IndexTuning:
    """Learn the weight of the model by MRR@10 and the threshold by F1 on dev queries, and keep both in the index."""
    if index.matcher is None:
        raise InputError(f"{index.folder} has no model, so there is nothing to blend: index the documents with one.")
    judged = _judged(queries, relevance)
    scored = score_queries(index, judged, first=first, progress=progress)
    mrr = mrr_by_weight(scored, relevance)
    best = best_weight(mrr)
    scores: list[float] = []
    labels: list[float] = []
    for name, each in scored.items():
        scores += [] if each.model is None else each.model.tolist()
        labels += [float(relevance[name].get(document, 0) > 0) for document in each.ids]
    threshold = fit_calibration(scores, labels, "F1").threshold if 0 < sum(labels) < len(labels) else None
    index.set_tuned(best, threshold)
    return IndexTuning(best, threshold, mrr, len(judged))


def mrr_by_weight(scored: Mapping[str, ScoredQuery], relevance: Relevance) -> dict[float, float]:
    """MRR@10 of the blend at each weight of the model."""
    return {
        weight: stage_metrics({name: each.ranking(BLEND, weight) for name, each in scored.items()}, relevance).mrr
        for weight in WEIGHTS
    }


def best_weight(mrr: Mapping[float, float]) -> float:
    """The weight of highest MRR; of equal ones, that nearest to the middle, which is safest on other queries."""
    return max(WEIGHTS, key=lambda weight: (round(mrr[weight], 6), -abs(weight - WEIGHT)))


def stage_metrics(rankings: Mapping[str, list[str]], relevance: Relevance) -> StageMetrics:
    """Recall of all ranked documents, MRR@10 and nDCG@10."""
    recall, mrr, ndcg = [], [], []
    for name, ranking in rankings.items():
        grades = {document: grade for document, grade in relevance[name].items() if grade > 0}
        gains = [grades.get(document, 0) for document in ranking]
        recall.append(sum(gain > 0 for gain in gains) / len(grades))
        mrr.append(next((1 / rank for rank, gain in enumerate(gains[:DEPTH], 1) if gain), 0.0))
        ndcg.append(_dcg(gains) / _dcg(sorted(grades.values(), reverse=True)))
    count = len(rankings)
    return StageMetrics(math.fsum(recall) / count, math.fsum(mrr) / count, math.fsum(ndcg) / count)


def _dcg(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:DEPTH], 1))


def _judged(queries: Mapping[str, str], relevance: Relevance) -> dict[str, str]:
    """The queries that have a positive."""
    judged = {name: query for name, query in queries.items() if any(g > 0 for g in relevance.get(name, {}).values())}
    if not judged:
        raise InputError(
            f"None of the {len(queries)} queries has a positive document in the qrels: check that both have the same "
            "ids of queries.",
            option="qrels",
        )
    return judged
