"""Scores documents of any length by their best window, from stored encodings where they have those of the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairlight.inference.long_texts import score_windows
from pairlight.inference.scorer import Scorer, Scores
from pairlight.inference.windows import Window, passages_of, tokenized_for_windows, windows_of
from pairlight.search.document_encodings import are_encoded_by, unpacked
from pairlight.search.documents import Document


@dataclass(frozen=True)
class ScoredPassages:
    """The score of each document's best window, and the window."""

    scores: Scores  # [N]
    windows: list[Window]  # [N]


def score_passages(scorer: Scorer, query: str, documents: Sequence[Document]) -> ScoredPassages:
    """Score the query with every window of every document, and keep the best window of each document."""
    scores = np.full(len(documents), -np.inf, np.float32)
    windows: list[Window | None] = [None] * len(documents)
    encoded = are_encoded_by(scorer, documents)
    for is_encoded in (True, False):
        numbers = [i for i, each in enumerate(encoded) if each == is_encoded]
        if not numbers:
            continue
        some = [documents[i] for i in numbers]
        if is_encoded:
            found, places = _score_encodings(scorer, query, some)
        else:
            found, places = score_windows(scorer, query, [each.text for each in some])
        for value, window in zip(found, places, strict=True):
            i = numbers[window.text]
            if windows[i] is None or value > scores[i]:
                scores[i], windows[i] = value, window
    return ScoredPassages(scores, [each for each in windows if each is not None])


def _score_encodings(scorer: Scorer, query: str, documents: Sequence[Document]) -> tuple[Scores, list[Window]]:
    encodings, windows = unpacked(documents)
    of_query = windows_of(tokenized_for_windows(scorer, [query]).lengths.tolist(), scorer.left_length)[:1]
    return scorer.score_encoded(passages_of(scorer, [query], of_query)[0].text, encodings), windows
