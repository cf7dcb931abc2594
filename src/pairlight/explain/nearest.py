"""The training pairs most similar to a pair, by the features that enter the model's score."""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.data.batching import batches_by_length
from pairlight.data.pairs import Pairs
from pairlight.explain.data import Neighbor
from pairlight.explain.trace import trace_pair
from pairlight.inference.scorer import ModelScorer
from pairlight.inference.scoring import TextNumbers, device_of, to_numpy, without_gradients
from pairlight.layers.collate import collate
from pairlight.layers.heads import WeightedSum
from pairlight.layers.layer import Layer, is_array
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Array, Seq
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts

SAMPLE = 1000  # pairs that the standard deviations of features are computed from
BATCH = 256
Column = NDArray[np.float64]


def nearest_pairs(scorer: ModelScorer, left: str, right: str, pairs: Pairs, n: int = 5) -> tuple[Neighbor, ...]:
    """The `n` of these pairs that are most similar to (left, right), most similar first; ties keep their order.

    Features are the inputs of the scoring layers: see `scoring_layers`. Each is divided by its standard deviation over
    the pairs. With d the root mean square difference of two pairs, their similarity is 1 / (1 + d). For a model without
    such features it is the cosine similarity of word counts, averaged over the left and the right texts.
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1.", option="n")
    if not len(pairs):
        raise InputError("There are no training pairs to search: give at least one.", option="train_pairs")
    left_numbers, right_numbers = pairs.left.astype(np.int64) + 2, pairs.right.astype(np.int64) + 2
    texts = scorer.tokenize([left, right, *pairs.texts], np.r_[0, left_numbers], np.r_[1, right_numbers])
    model = scorer.model.eval()
    layers = scoring_layers(model, texts)
    if layers:
        similarity, scores = _compare_features(model, layers, texts, left_numbers, right_numbers)
    else:
        similarity = (_word_cosines(texts, 0)[left_numbers] + _word_cosines(texts, 1)[right_numbers]) / 2
        scores = scorer.score_tokenized(texts, left_numbers, right_numbers).astype(float)
    return tuple(
        Neighbor(
            pairs.texts[pairs.left[row]],
            pairs.texts[pairs.right[row]],
            float(pairs.labels[row]),
            float(scores[row]),
            float(similarity[row]),
            int(row),
            "score" if layers else "words",
        )
        for row in np.argsort(-similarity, kind="stable")[:n]
    )


def scoring_layers(model: PairModel, texts: TokenizedTexts) -> list[Layer]:
    """The layers whose inputs are the features of a pair.

    This is the layer `score`. If it is a weighted sum over words, it is the layer that scores the words. If there is no
    layer of this name, these are the layers of the model that return one number per pair. Layers that read the texts
    themselves have no features. The features of the evidence are added to them.
    """
    # The longest text, because with a text of one word a number per word looks like a number per pair.
    longest = collate(texts, np.array([texts.lengths.argmax()]), device_of(model))
    linear, model_itself = model.linear_layer(), model.without_evidence
    children = list(model_itself.children())
    calls = [call for call in trace_pair(model, longest, longest).calls if call.layer in children]
    evidence = [linear] if linear is not None and model_itself is not model else []
    score = getattr(model_itself, "score", None)
    if isinstance(score, WeightedSum):
        scored = [call.layer for call in calls if call.layer is not score and _word_features(call.args)]
        return scored[-1:] + evidence
    if not isinstance(score, Layer):
        per_pair = {call.layer for call in calls if is_array(call.output) and prod(call.output.shape) == 1}
        return [layer for layer in children if layer in per_pair] + evidence
    return ([score] if any(call.layer is score and _features(call.args) for call in calls) else []) + evidence


class _InputTrace:
    """A LayerTrace that records the features that some layers are given."""

    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers
        self.features: list[Array] = []

    def watches(self, layer: Layer) -> bool:
        return layer in self.layers

    def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
        self.features.extend(_features(args))
        return layer.forward(*args)

    def note(self, layer: Layer, value: Any) -> None:
        pass


def _features(args: tuple[Any, ...]) -> list[Array]:
    """One vector per pair for each argument; vectors of words are added up.   [B, D] or [B, L, D] -> [B, D]"""
    arrays = [arg.x if isinstance(arg, Seq) else arg for arg in args if isinstance(arg, Seq) or is_array(arg)]
    return [x.sum(1) if x.ndim == 3 else x for x in arrays]


def _word_features(args: tuple[Any, ...]) -> bool:
    return any(is_array(arg) and arg.ndim == 3 for arg in args)


def _compare_features(
    model: PairModel, layers: list[Layer], texts: TokenizedTexts, left: TextNumbers, right: TextNumbers
) -> tuple[Column, Column]:
    """The similarity of each pair to the pair of texts 0 and 1, and its score."""
    (_, own, _), *_ = _read_features(model, layers, texts, np.array([0]), np.array([1]))
    some = np.unique(np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).astype(np.int64))
    sample = [features for _, features, _ in _read_features(model, layers, texts, left[some], right[some])]
    std = np.concatenate(sample).std(0)
    std = np.where(std > 1e-6 * std.max(), std, 1.0)
    similarity, scores = np.empty(len(left)), np.empty(len(left))
    for rows, features, batch_scores in _read_features(model, layers, texts, left, right):
        distance = np.sqrt(np.square((features - own) / std).mean(1))
        similarity[rows], scores[rows] = 1 / (1 + distance), batch_scores
    return similarity, scores


def _read_features(
    model: PairModel, layers: list[Layer], texts: TokenizedTexts, left: TextNumbers, right: TextNumbers
) -> Iterator[tuple[TextNumbers, Column, Column]]:
    """Batches of pairs: their rows, features [B, D] and scores [B]."""
    device = device_of(model)
    for rows in batches_by_length(texts.lengths[left] * texts.lengths[right], BATCH):
        trace = _InputTrace(layers)
        with without_gradients(model), tracing(trace):
            scores = model(collate(texts, left[rows], device), collate(texts, right[rows], device))
        features = [to_numpy(each).astype(np.float64) for each in trace.features]
        yield rows, np.concatenate(features, 1), to_numpy(scores)


def _word_cosines(texts: TokenizedTexts, number: int) -> Column:
    """The cosine similarity of the word counts of one text to those of each text."""
    counts = [
        dict(zip(*np.unique(words, return_counts=True), strict=True))
        for words in np.split(texts.ids, texts.start[1:-1])
    ]
    norms = np.sqrt([sum(count**2 for count in words.values()) for words in counts])
    products = [sum(count * words.get(word, 0) for word, count in counts[number].items()) for words in counts]
    return np.asarray(products / (norms[number] * norms))
