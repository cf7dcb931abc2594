"""A model as it is served: its name, scores with what was truncated, probabilities and spans of an explanation."""

import gc
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.explain.data import Comparison, Contributions, Explanation, TextView
from pairlight.explain.explain import explain_words
from pairlight.inference.long_texts import best_of_windows, score_windows
from pairlight.inference.ready_made import find_model, ready_made, resolve_model
from pairlight.inference.windows import Passage, passages_of, words_read
from pairlight.layers.backends import prefer_backend
from pairlight.matcher import Matcher
from pairlight.search.documents import Document
from pairlight.search.passages import score_passages

MAX_CHARACTERS = 10_000  # of a text that is explained, more than what a model reads, so that the time has a bound
_CHARACTERS = 64  # for each word that a model reads, if that is more
MAX_SPANS = 5  # of a document
SPAN_SHARE = 0.2  # of the largest contribution, from which a word belongs to a span


@dataclass(frozen=True)
class PairScores:
    """Scores of pairs, and which of their texts are longer than what the model reads."""

    scores: NDArray[np.float32]
    left_truncated: NDArray[np.bool_]
    right_truncated: NDArray[np.bool_]

    def split(self, sizes: Sequence[int]) -> "list[PairScores]":
        at = np.cumsum(sizes)[:-1]
        parts = (np.split(each, at) for each in (self.scores, self.left_truncated, self.right_truncated))
        return [PairScores(*each) for each in zip(*parts, strict=True)]

    @classmethod
    def join(cls, parts: "Sequence[PairScores]") -> "PairScores":
        return cls(
            np.concatenate([each.scores for each in parts]),
            np.concatenate([each.left_truncated for each in parts]),
            np.concatenate([each.right_truncated for each in parts]),
        )


class ServedModel:
    """A loaded model with the name that requests use; it never changes: a reload makes another one."""

    def __init__(self, name: str, matcher: Matcher, folder: Path) -> None:
        self.name, self.matcher, self.folder = name, matcher, folder
        self.max_length = matcher.scorer.max_length
        self.max_characters = max(MAX_CHARACTERS, _CHARACTERS * self.max_length)  # of a text that is explained

    @classmethod
    def load(cls, model: str | Path) -> "ServedModel":
        """Load a model folder or a ready-made model, and score with it once, so that the first request is fast."""
        folder = resolve_model(model)
        with prefer_backend("numpy"):  # a server trains nothing
            served = cls(served_name(model), Matcher.load(model), folder)
        scored = served.score(["a question"], ["an answer"])
        if not math.isfinite(float(scored.scores[0])):
            raise InputError(f"{model} gives scores that are not finite: train it again.")
        return served

    def score(self, left: Sequence[str], right: Sequence[str]) -> PairScores:
        scorer = self.matcher.scorer
        numbers: dict[str, int] = {}
        at = np.array([numbers.setdefault(text, len(numbers)) for text in left], np.int64)
        other = np.array([numbers.setdefault(text, len(numbers)) for text in right], np.int64)
        texts = list(numbers)
        tokenized = scorer.token_ids(texts)
        truncated = scorer.truncated(texts, tokenized, self.max_length)
        # The model may read less of a side than the tokenizer.
        left_cut, right_cut = (truncated | (tokenized.lengths > n) for n in (scorer.left_length, scorer.right_length))
        return PairScores(scorer.score_tokenized(tokenized, at, other), left_cut[at], right_cut[other])

    def score_long(self, query: str, texts: Sequence[str]) -> PairScores:
        """The scores of documents that are longer than what the model reads, by their best passage."""
        scorer, limit = self.matcher.scorer, words_read(self.matcher.scorer)
        scores, windows = score_windows(scorer, query, texts)
        full = {each.text for each in windows if each.end == limit}  # others are read to the end
        truncated = [i in full and scorer.tokenizer.tokenize([t], limit).truncated > 0 for i, t in enumerate(texts)]
        return PairScores(
            best_of_windows(scores, windows, len(texts)), np.zeros(len(texts), np.bool_), np.array(truncated)
        )

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Calibrated probabilities where the model has them, otherwise the sigmoid of its scores."""
        calibration = self.matcher.calibration
        if calibration is not None and calibration.has_probability:
            return calibration.probability(scores)
        return 1 / (1 + np.exp(-np.clip(scores.astype(np.float64), -700, 700)))

    def explain(self, query: str, texts: Sequence[str]) -> Explanation | Comparison:
        """Why a text matches, or why one of several ranks above the others; only the beginning of a text is read."""
        query, *read = (text[: self.max_characters] for text in (query, *texts))
        found = self.matcher.explain(query, read[0]) if len(read) == 1 else self.matcher.explain(query, read)
        gc.collect()  # of the cycles with large arrays that an explanation leaves; fast, see Backend.load
        if isinstance(found, Comparison):
            return replace(found, explanations=tuple(map(self._noted, found.explanations)))
        return self._noted(found)

    def relevant_spans(self, query: str, text: str) -> list[dict[str, Any]]:
        """The parts of a text that contribute most to its score, by position."""
        if not text.strip():
            return []
        query, text = (each[: self.max_characters] for each in (query, text))
        passage = self._best_passages(query, [Document("", text)])[0]
        _, right, contributions = explain_words(self.matcher.scorer, query, passage.text)
        spans = spans_of(right, contributions)
        return [each | {name: each[name] + passage.start for name in ("start", "end")} for each in spans]

    def passages(self, query: str, documents: Sequence[Document]) -> list[str]:
        """What the model reads of these documents: of long ones, the passage that matches best."""
        return [each.text for each in self._best_passages(query, documents)]

    def _best_passages(self, query: str, documents: Sequence[Document]) -> list[Passage]:
        found = score_passages(self.matcher.scorer, query, documents)
        windows = [replace(window, text=number) for number, window in enumerate(found.windows)]
        return passages_of(self.matcher.scorer, [each.text for each in documents], windows)

    def _noted(self, explanation: Explanation) -> Explanation:
        if max(len(explanation.left.text), len(explanation.right.text)) < self.max_characters:
            return explanation
        note = f"Only the first {self.max_characters:,} characters of a text are looked at."
        return replace(explanation, notes=(*explanation.notes, note))


def spans_of(right: TextView, contributions: Contributions) -> list[dict[str, Any]]:
    """Neighbouring words of a right text with large contributions as spans in code points, at most `MAX_SPANS`."""
    largest = max(contributions.right)
    if largest <= 0:
        return []
    spans: list[dict[str, Any]] = []
    last = -2
    for number, (word, value) in enumerate(zip(right.words, contributions.right, strict=True)):
        if value < SPAN_SHARE * largest:
            continue
        if number == last + 1:
            spans[-1]["end"] = max(spans[-1]["end"], word.end)
            spans[-1]["score"] += value
        else:
            spans.append({"start": word.start, "end": word.end, "score": value})
        last = number
    best = sorted(spans, key=lambda each: -each["score"])[:MAX_SPANS]
    return sorted(best, key=lambda each: each["start"])


def served_name(model: str | Path) -> str:
    """The name in requests: that of a ready-made model, or of the folder."""
    if str(model) in ready_made() and not Path(model).exists():
        return str(model)
    return Path(model).resolve().name


def check_models(models: Sequence[str | Path]) -> None:
    """Raise InputError unless these are models with distinct names; nothing is loaded."""
    names: set[str] = set()
    for model in models:
        find_model(model)
        if served_name(model) in names:
            raise InputError(f"Two models are named {served_name(model)!r}: rename one of the folders.")
        names.add(served_name(model))
