"""Ranking metrics: how high each list puts its right answers."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.columns import columns, grades
from pairlight.evaluation.result import Result

HIGHEST_GRADE = 1000  # trec_eval counts grades in a table as long as the highest of them


def rank_metrics(scores: ArrayLike, labels: ArrayLike, groups: ArrayLike, *, keep_empty: bool = False) -> Result:
    """P@1, MRR, MAP and nDCG@3, 5, 10 of the lists that `groups` makes of the pairs [N].

    A label above 0 is a right answer, and it is its own gain in nDCG. Equal scores count against the model: among
    them the lower label is ranked first, so a constant scorer looks as bad as can be and the order of the input
    changes nothing. A list without a right answer is left out, or counts as 0 where `keep_empty`; one without a wrong
    answer counts, and a note says so.
    """
    s, y = columns(scores, labels)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    if group.shape != s.shape:
        raise InputError(f"There are {len(s)} scores and {group.size} groups: give one of each for each pair.")
    qrels: dict[str, dict[str, int]] = {str(i): {} for i in range(len(names))}
    run: dict[str, dict[str, float]] = {str(i): {} for i in range(len(names))}
    for row, (i, score, grade) in enumerate(zip(group.tolist(), s.tolist(), grades(y), strict=True)):
        qrels[str(i)][str(row)] = grade
        run[str(i)][str(row)] = score
    result = evaluate_run(qrels, run, keep_empty=keep_empty)
    sure = sum(min(judged.values()) > 0 for judged in qrels.values())
    if sure:
        note = f"{sure} of {len(qrels)} lists have no wrong answer: their P@1, MRR and MAP are 1 for every model"
        result = replace(result, notes=(*result.notes, note))
    return result


def evaluate_run(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], *, keep_empty: bool = False
) -> Result:
    """The same metrics, by the same rules, of scores by query and document against grades by query and document.

    A document missing from the run is not retrieved; one missing from the qrels is a wrong answer; a query missing
    from the run counts as 0.
    """
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    names = {P @ 1: "P@1", RR: "MRR", AP: "MAP", nDCG @ 3: "nDCG@3", nDCG @ 5: "nDCG@5", nDCG @ 10: "nDCG@10"}
    highest = {query: max(judged.values(), default=0) for query, judged in qrels.items()}
    answered = [query for query, grade in highest.items() if grade > 0]
    counted = list(qrels) if keep_empty else answered
    if not counted:
        raise InputError(
            f"None of the {len(qrels)} lists has a label above 0: ranking needs a list with a right answer."
        )
    if max(highest.values()) > HIGHEST_GRADE:
        raise InputError(
            f"A label is {max(highest.values())}, and grades go up to {HIGHEST_GRADE}: use a shorter scale."
        )

    place = {query: i for i, query in enumerate(counted)}
    per_list = {name: np.zeros(len(counted)) for name in names.values()}
    judged = {query: {document: max(grade, 0) for document, grade in qrels[query].items()} for query in answered}
    ranked = {query: _ranked(query, run[query], judged[query]) for query in answered if run.get(query)}
    for value in ir_measures.iter_calc(list(names), judged, ranked):
        per_list[names[value.measure]][place[value.query_id]] = value.value

    empty = len(qrels) - len(answered)
    missing = sum(not run.get(query) for query in counted)
    unjudged = sum(query not in qrels for query in run)
    notes = []
    if empty:
        fate = "count as 0" if keep_empty else "were left out"
        notes.append(f"{empty} of {len(qrels)} lists have no right answer and {fate}")
    if missing:
        notes.append(f"{missing} of {len(counted)} lists are missing from the run and count as 0")
    if unjudged:
        notes.append(f"{unjudged} lists of the run are not in the qrels and were ignored")
    return Result(
        "ranking",
        # An exact sum, so that the order of the lists changes no metric even in its last digit.
        {name: math.fsum(values) / len(counted) for name, values in per_list.items()},
        counted=len(counted),
        left_out=len(qrels) - len(counted),
        notes=tuple(notes),
        per_list=per_list,
    )


def _ranked(query: str, scores: Mapping[str, float], judged: Mapping[str, int]) -> dict[str, float]:
    """Scores without ties: trec_eval would break ties by the documents' names."""
    for document, score in scores.items():
        if not math.isfinite(score):
            raise InputError(
                f"The score of document {document!r} for query {query!r} is {score}: give a finite number."
            )
    worst_first = sorted(scores, key=lambda document: (-scores[document], judged.get(document, 0)))
    return {document: float(-rank) for rank, document in enumerate(worst_first)}
