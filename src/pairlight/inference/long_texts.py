"""Scores texts of any length with a query: one that is longer than what the model reads, by its best window."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from pairlight.inference.scorer import ModelScorer, Scorer, Scores
from pairlight.inference.windows import Window, passages_of, tokenized_for_windows, windows_of
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer

BATCH = 16  # long texts that are scored at a time, which bounds memory


def score_texts(scorer: ModelScorer, query: str, texts: Sequence[str]) -> Scores:
    """The score of the query with each text."""
    everything = [query, *texts]
    tokenized, right = scorer.token_ids(everything), np.arange(1, len(everything))
    scores = scorer.score_tokenized(tokenized, np.zeros_like(right), right)
    truncated = scorer.truncated(everything, tokenized, scorer.max_length)
    if truncated[0] or tokenized.lengths[0] > scorer.left_length:
        warnings.warn(f"The query has more than {scorer.left_length} words and was truncated.", stacklevel=3)
    longer = np.flatnonzero(truncated[1:] | (tokenized.lengths[1:] > scorer.right_length))
    for numbers in batches(longer.tolist()):
        found, windows = score_windows(scorer, query, [texts[i] for i in numbers])
        scores[numbers] = best_of_windows(found, windows, len(numbers))
    return scores


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """The numbers of long texts that are scored at a time."""
    return (numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH))


def best_of_windows(scores: Scores, windows: Sequence[Window], texts: int) -> Scores:
    """The score of the best window of each text."""
    return np.maximum.reduceat(scores, np.searchsorted([each.text for each in windows], np.arange(texts)))


def score_windows(scorer: Scorer, query: str, texts: Sequence[str]) -> tuple[Scores, list[Window]]:
    """The score of the query with every window of these texts."""
    tokenized = tokenized_for_windows(scorer, [query, *texts])
    lengths = tokenized.lengths.tolist()
    windows = windows_of(lengths[1:], scorer.right_length)
    of_query = windows_of(lengths[:1], scorer.left_length)[0]  # of a long query, only the beginning is read
    if isinstance(scorer.tokenizer, Tokenizer):
        # A model of words may also read subwords or vectors of unknown words, which it finds in the text itself.
        left, right = passages_of(scorer, [query], [of_query]), passages_of(scorer, texts, windows)
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
