"""Scores texts of any length by their best passage: overlapping windows of the length that the model reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairlight.inference.scorer import Scorer, Scores
from pairlight.search.results import Passage
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer

MAX_WINDOWS = 64  # of a text that are read, so that the cost of a long text has a bound


@dataclass(frozen=True)
class ScoredPassages:
    """The score of each text's best window, and the words of the text that the window has."""

    scores: Scores  # [T]
    start: list[int]  # [T]
    end: list[int]  # [T]
    whole: list[bool]  # [T] whether the window is the whole text


def score_passages(scorer: Scorer, query: str, texts: Sequence[str]) -> ScoredPassages:
    """Score the query with every window of every text, and keep the best window of each text."""
    size = scorer.max_length
    step = max(1, size // 2)
    tokenized = scorer.tokenizer.tokenize([query, *texts], size + (MAX_WINDOWS - 1) * step)
    count = tokenized.lengths
    owner, begin, end = [0], [0], [min(int(count[0]), size)]  # the query itself is text 0
    for text in range(1, len(texts) + 1):
        words = int(count[text])
        for at in range(0, max(1, words - size + step), step):
            at = max(0, min(at, words - size))  # the last window is as long as the others
            owner.append(text)
            begin.append(at)
            end.append(min(at + size, words))
    if isinstance(scorer.tokenizer, Tokenizer):
        # A model of words may also read subwords or vectors of unknown words, which it finds in the text itself.
        all_texts = [query, *texts]
        parts = [
            all_texts[text] if b - a == count[text] else passage_of(scorer, all_texts[text], a, b).text
            for text, a, b in zip(owner, begin, end, strict=True)
        ]
        scored = scorer.score([parts[0]] * (len(parts) - 1), parts[1:])
    else:
        scored = _score_windows(scorer, tokenized, owner, begin, end)
    best: dict[int, int] = {}
    for number, (text, score) in enumerate(zip(owner[1:], scored.tolist(), strict=True)):
        if text not in best or score > scored[best[text]]:
            best[text] = number
    chosen = [best[text] for text in range(1, len(texts) + 1)]
    return ScoredPassages(
        scored[chosen],
        [begin[n + 1] for n in chosen],
        [end[n + 1] for n in chosen],
        [int(count[text]) <= size for text in range(1, len(texts) + 1)],
    )


def _score_windows(
    scorer: Scorer, tokenized: TokenizedTexts, owner: list[int], begin: list[int], end: list[int]
) -> Scores:
    """The score of the first window, the query, with each of the others, without tokenizing them again."""
    spans = [(int(tokenized.start[text]), a, b) for text, a, b in zip(owner, begin, end, strict=True)]
    rows = [np.arange(first + a, first + b) for first, a, b in spans]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
    windows = TokenizedTexts(tokenized.ids[np.concatenate(rows)], starts, 0)
    right = np.arange(1, len(rows))
    return scorer.score_tokenized(windows, np.zeros(len(right), np.int64), right)


def passage_of(scorer: Scorer, text: str, start: int, end: int) -> Passage:
    """The words `start` to `end` of a text as a passage."""
    tokens = scorer.tokenizer.tokens(text)
    if not tokens[start:end]:
        return Passage(text, 0, len(text))
    a, b = tokens[start].start, tokens[min(end, len(tokens)) - 1].end
    while a < b and text[a].isspace():  # a subword can begin with the space before it
        a += 1
    return Passage(text[a:b], a, b)
