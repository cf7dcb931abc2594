"""Metrics of ranking lists."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.metrics import RANKING_METRICS
from pairlight.evaluation.result import EvaluationResult
from pairlight.evaluation.validation import check_scores_and_labels, integer_grades

MAX_GRADE = 1000  # trec_eval allocates an array as long as the highest grade


def ranking_metrics(
    scores: ArrayLike, labels: ArrayLike, groups: ArrayLike, *, keep_empty: bool = False
) -> EvaluationResult:
    """Compute P@1, MRR, MAP and nDCG@3, 5 and 10 of N pairs; pairs with the same group form a ranking list.

    A label above 0 is positive, and the label is the gain in nDCG. Ties count against the model: of pairs with the
    same score, those with lower labels are ranked first. So a constant scorer gets the lowest possible value, and the
    order of the pairs does not matter. Lists without a positive are left out, or count as 0 if `keep_empty` is set.
    Lists without a negative are counted, and a note says how many there are.
    """
    s, y = check_scores_and_labels(scores, labels)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    if group.shape != s.shape:
        raise InputError(f"There are {len(s)} scores, but {group.size} groups: give one of each for each pair.")
    qrels: dict[str, dict[str, int]] = {str(i): {} for i in range(len(names))}
    run: dict[str, dict[str, float]] = {str(i): {} for i in range(len(names))}
    for row, (i, score, grade) in enumerate(zip(group.tolist(), s.tolist(), integer_grades(y), strict=True)):
        qrels[str(i)][str(row)] = grade
        run[str(i)][str(row)] = score
    result = evaluate_run(qrels, run, keep_empty=keep_empty)
    only_positives = sum(min(grades.values()) > 0 for grades in qrels.values())
    if only_positives:
        note = f"{only_positives} of {len(qrels)} lists have no negative: their P@1, MRR and MAP are 1 for every model"
        result = replace(result, notes=(*result.notes, note))
    return result


def evaluate_run(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], *, keep_empty: bool = False
) -> EvaluationResult:
    """Compute the same metrics from grades (qrels) and scores (run), both by query and document.

    A document that is not in the run is not retrieved. A document that is not in the qrels is negative. A query that
    is not in the run counts as 0.
    """
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    names = dict(zip([P @ 1, RR, AP, nDCG @ 3, nDCG @ 5, nDCG @ 10], RANKING_METRICS, strict=True))
    highest = {query: max(grades.values(), default=0) for query, grades in qrels.items()}
    with_positive = [query for query, grade in highest.items() if grade > 0]
    counted = list(qrels) if keep_empty else with_positive
    if not counted:
        raise InputError(
            f"None of the {len(qrels)} lists has a label above 0: ranking metrics need a list with a positive.",
            option="label",
        )
    if max(highest.values()) > MAX_GRADE:
        raise InputError(
            f"A label is {max(highest.values())}, but ranking metrics allow labels up to {MAX_GRADE}: rescale the "
            "labels.",
            option="label",
        )

    index = {query: i for i, query in enumerate(counted)}
    per_list = {name: np.zeros(len(counted)) for name in names.values()}
    gains = {query: {document: max(grade, 0) for document, grade in qrels[query].items()} for query in with_positive}
    ranked = {query: _without_ties(query, run[query], gains[query]) for query in with_positive if run.get(query)}
    for value in ir_measures.iter_calc(list(names), gains, ranked):
        per_list[names[value.measure]][index[value.query_id]] = value.value

    empty = len(qrels) - len(with_positive)
    missing = sum(not run.get(query) for query in counted)
    without_grades = sum(query not in qrels for query in run)
    notes = []
    if empty:
        consequence = "count as 0" if keep_empty else "were left out"
        notes.append(f"{empty} of {len(qrels)} lists have no positive and {consequence}")
    if missing:
        notes.append(f"{missing} of {len(counted)} lists are missing from the run and count as 0")
    if without_grades:
        notes.append(f"{without_grades} lists of the run are not in the qrels and were ignored")
    return EvaluationResult(
        "ranking",
        # fsum is exact, so the order of the lists does not change even the last digit.
        {name: math.fsum(values) / len(counted) for name, values in per_list.items()},
        counted=len(counted),
        left_out=len(qrels) - len(counted),
        notes=tuple(notes),
        per_list=per_list,
    )


def _without_ties(query: str, scores: Mapping[str, float], gains: Mapping[str, int]) -> dict[str, float]:
    """Replace scores by ranks, with ties broken against the model; trec_eval would break them by document id."""
    for document, score in scores.items():
        if not math.isfinite(score):
            raise InputError(
                f"The score of document {document!r} for query {query!r} is {score}: give a finite number."
            )
    ranking = sorted(scores, key=lambda document: (-scores[document], gains.get(document, 0)))
    return {document: float(-rank) for rank, document in enumerate(ranking)}
