"""How well rankings by encodings of lower precision agree with those by fp32."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairlight.core.errors import InputError
from pairlight.evaluation.classification import spearman
from pairlight.inference.encodings import Encodings
from pairlight.inference.scorer import Scorer

TOP = 10


@dataclass(frozen=True)
class Agreement:
    """How well the ranking by encodings of lower precision agrees with that by fp32, as a mean over queries."""

    dtype: str
    spearman: float  # correlation of the two rankings
    top: float  # share of the ten best texts that both rankings have
    queries: int
    texts: int


def agreement(scorer: Scorer, encodings: Encodings, queries: Sequence[str], dtype: str) -> Agreement:
    """Rank with fp32 encodings and with the same ones stored as `dtype`, and compare."""
    if encodings.dtype != "fp32":
        raise InputError(f"These encodings are {encodings.dtype}: compare fp32 encodings with lower precision.")
    if not queries or len(encodings) < 2:
        raise InputError("Give at least one query and two encoded texts to compare rankings.")
    lower = encodings.astype(dtype)
    found = []
    for query in queries:
        a, b = (scorer.score_encoded(query, each) for each in (encodings, lower))
        best = [set(np.argsort(-scores, kind="stable")[:TOP].tolist()) for scores in (a, b)]
        found.append((spearman(a, b), len(best[0] & best[1]) / len(best[0])))
    correlation, top = np.mean(found, axis=0).tolist()
    return Agreement(dtype, correlation, top, len(queries), len(encodings))
