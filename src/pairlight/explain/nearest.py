"""The training pairs that a model takes to be most like a pair, by what enters their scores."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pairlight.data.batching import by_length
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.explain.data import Neighbour
from pairlight.explain.trace import apart, hooked, run
from pairlight.models.base import PairModel
from pairlight.inference.scoring import score_pairs, tokens
from pairlight.layers.types import Seq
from pairlight.text.tokenizer import TokenizedTexts

SAMPLE = 1000  # pairs that the spread of a feature is taken from
BATCH = 256
Floats = NDArray[np.float64]
Rows = NDArray[np.integer]


def nearest_pairs(model: PairModel, encoded: TokenizedTexts, pairs: Pairs, n: int) -> tuple[Neighbour, ...]:
    """The `n` of these pairs most like that of texts 0 and 1, behind which the pairs' own texts stand encoded.

    Alike are pairs of which the same enters the score: likeness = 1 / (1 + d), d the root mean square distance of what
    the stage `score` is given, each number told in spreads of it over the pairs. A model without such a stage is asked
    for the outermost stages that give one number a pair. With one that has none of those (BM25, aNMM) pairs of like
    words are alike: the cosine of the counts of words, the mean of both sides. Of equals, the earlier pair comes first.
    """
    if n < 1:
        raise InputError(f"n={n} pairs are none: ask for 1 or more.")
    if not len(pairs):
        raise InputError("There is no training pair to look among: give one or more.")
    model = apart(model)
    left, right = pairs.left.astype(np.int64) + 2, pairs.right.astype(np.int64) + 2
    stages = scoring_stages(model, encoded)
    if stages:
        likeness, scores = _by_features(model, stages, encoded, left, right)
    else:
        likeness = (_shared(encoded, 0)[left] + _shared(encoded, 1)[right]) / 2
        scores = score_pairs(model, encoded, left, right).astype(float)
    return tuple(
        Neighbour(
            pairs.texts[pairs.left[row]],
            pairs.texts[pairs.right[row]],
            float(pairs.labels[row]),
            float(scores[row]),
            float(likeness[row]),
            int(row),
            "score" if stages else "words",
        )
        for row in np.argsort(-likeness, kind="stable")[:n]
    )


def scoring_stages(model: PairModel, encoded: TokenizedTexts) -> list[nn.Module]:
    """The stage `score`, else the outermost stages that give one number a pair; the longest text is read to see."""
    score = getattr(model, "score", None)
    if isinstance(score, nn.Module):
        return [score]
    # Of a text of one word, a number a word could not be told from one a pair.
    longest = tokens(encoded, np.array([encoded.lengths.argmax()]), _device(model))
    seen = run(model, longest, longest)
    one = {call.module for call in seen.calls if isinstance(call.output, Tensor) and call.output.numel() == 1}
    return [stage for stage in model.children() if stage in one]


def _by_features(
    model: PairModel, stages: list[nn.Module], encoded: TokenizedTexts, left: Rows, right: Rows
) -> tuple[Floats, Floats]:
    (_, own, _), *_ = _read(model, stages, encoded, np.array([0]), np.array([1]))
    some = np.unique(np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).astype(np.int64))
    sample = torch.cat([features for _, features, _ in _read(model, stages, encoded, left[some], right[some])])
    spread = sample.std(0, correction=0)
    spread = torch.where(spread > 1e-6 * spread.max(), spread, 1.0)
    likeness, scores = np.empty(len(left)), np.empty(len(left))
    for rows, features, found in _read(model, stages, encoded, left, right):
        distance = ((features - own) / spread).square().mean(1).sqrt()
        likeness[rows], scores[rows] = 1 / (1 + distance).cpu().numpy(), found.cpu().numpy()
    return likeness, scores


@torch.no_grad()
def _read(
    model: PairModel, stages: list[nn.Module], encoded: TokenizedTexts, left: Rows, right: Rows
) -> Iterator[tuple[Rows, Tensor, Tensor]]:
    """Pairs in batches: their rows, what enters their scores [B, D], their scores [B]."""
    device = _device(model)
    for rows in by_length(encoded.lengths[left] * encoded.lengths[right], BATCH):
        given: list[Tensor] = []

        def take(_: nn.Module, args: tuple[Any, ...], __: Any, given: list[Tensor] = given) -> None:
            given.extend(_vector(each) for each in args if isinstance(each, (Tensor, Seq)))

        with hooked(stages, take):
            scores = model(tokens(encoded, left[rows], device), tokens(encoded, right[rows], device))
        yield rows, torch.cat(given, 1).double(), scores


def _vector(given: Tensor | Seq) -> Tensor:
    """One vector a pair: what is given word by word is added up.   [B, D] or [B, L, D] -> [B, D]"""
    x = given.x if isinstance(given, Seq) else given
    return x.sum(1) if x.dim() == 3 else x


def _shared(encoded: TokenizedTexts, text: int) -> Floats:
    """The cosine of the counts of words of one text with each text."""
    counts = [
        dict(zip(*np.unique(words, return_counts=True), strict=True))
        for words in np.split(encoded.ids, encoded.start[1:-1])
    ]
    long = np.sqrt([sum(count**2 for count in words.values()) for words in counts])
    same = [sum(count * words.get(word, 0) for word, count in counts[text].items()) for words in counts]
    return np.asarray(same / (long[text] * long))


def _device(model: PairModel) -> torch.device:
    return next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
