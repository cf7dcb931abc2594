"""Scores documents of any length by their best window, from stored encodings where they have those of the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairlight.inference.scorer import Scorer, Scores
from pairlight.search.document_encodings import are_encoded_by, unpacked
from pairlight.search.documents import Document
from pairlight.search.windows import Window, passages_of, tokenized_for_windows, windows_of
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer


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
    for score, is_wanted in ((_score_encodings, True), (_score_texts, False)):
        numbers = [i for i, each in enumerate(encoded) if each == is_wanted]
        if not numbers:
            continue
        found, places = score(scorer, query, [documents[i] for i in numbers])
        for value, window in zip(found, places, strict=True):
            i = numbers[window.text]
            if windows[i] is None or value > scores[i]:
                scores[i], windows[i] = value, window
    return ScoredPassages(scores, [each for each in windows if each is not None])


def _score_encodings(scorer: Scorer, query: str, documents: Sequence[Document]) -> tuple[Scores, list[Window]]:
    encodings, windows = unpacked(documents)
    of_query = windows_of(tokenized_for_windows(scorer, [query]).lengths.tolist(), scorer.left_length)[:1]
    return scorer.score_encoded(passages_of(scorer, [query], of_query)[0].text, encodings), windows


def _score_texts(scorer: Scorer, query: str, documents: Sequence[Document]) -> tuple[Scores, list[Window]]:
    texts = [query, *(each.text for each in documents)]
    tokenized = tokenized_for_windows(scorer, texts)
    lengths = tokenized.lengths.tolist()
    windows = windows_of(lengths[1:], scorer.right_length)
    of_query = windows_of(lengths[:1], scorer.left_length)[0]  # of a long query, only the beginning is read
    if isinstance(scorer.tokenizer, Tokenizer):
        # A model of words may also read subwords or vectors of unknown words, which it finds in the text itself.
        left, right = passages_of(scorer, texts, [of_query]), passages_of(scorer, texts[1:], windows)
        return scorer.score([left[0].text] * len(right), [each.text for each in right]), windows
    places = [(0, of_query), *((each.text + 1, each) for each in windows)]
    return _score_tokenized(scorer, tokenized, places), windows


def _score_tokenized(scorer: Scorer, tokenized: TokenizedTexts, windows: Sequence[tuple[int, Window]]) -> Scores:
    """The score of the first window, the query, with each of the others, without tokenizing them again."""
    first = tokenized.start.tolist()
    rows = [np.arange(first[text] + each.start, first[text] + each.end) for text, each in windows]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
    right = np.arange(1, len(rows))
    found = TokenizedTexts(tokenized.ids[np.concatenate(rows)], starts, 0)
    return scorer.score_tokenized(found, np.zeros(len(right), np.int64), right)
