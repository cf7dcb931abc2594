"""What each word contributes to the score: by leave-one-out and by integrated gradients."""

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.explain.data import Contributions, ZeroedInput
from pairlight.explain.removal import Words, texts_without
from pairlight.explain.trace import LayerCall, ReplayTrace, Trace, embedding_layers, output_list
from pairlight.inference.scorer import Scorer
from pairlight.inference.scoring import to_numpy
from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, is_array
from pairlight.layers.types import Array, Tokens
from pairlight.text.tokenizer import TokenizedTexts

Floats = NDArray[np.floating]

STEPS = (16, 64, 256)  # tried in this order until the residual is small enough
TARGET_RESIDUAL = 0.02  # as a share of score - baseline: below this, no more steps are taken
MAX_RESIDUAL = 0.1  # above this, the attributions are not used
COPIES = 18  # of the pair that are scored at a time: the fewest steps, the baseline and the pair itself


# Leave-one-out


def leave_one_out(
    scorer: Scorer,
    texts: TokenizedTexts,
    words: Sequence[Words] | None = None,
    subword_words: Sequence[Words] | None = None,
) -> Contributions:
    """The score of texts 0 and 1 minus their score without each of the words.

    Text 2 is the empty text, which replaces a text of one word. All pairs are scored in one call. `words` and
    `subword_words` are those of `texts_without`.
    """
    counts = texts.lengths[:2] if words is None else [max(words[t][: texts.lengths[t]]) + 1 for t in range(2)]
    L, R = (int(count) for count in counts)
    removals = [(side, {word}) for side, count in enumerate((L, R)) for word in range(count)]
    without = texts_without(texts, removals, words, subword_words)
    left_numbers = np.r_[0, 2 : 2 + L, np.zeros(R, int)]
    right_numbers = np.r_[1, np.ones(L, int), 2 + L : 2 + L + R]
    scores = scorer.score_tokenized(without, left_numbers, right_numbers).astype(float)
    values = scores[0] - scores[1:]
    return Contributions("leave-one-out", tuple(values[:L].tolist()), tuple(values[L:].tolist()))


# Integrated gradients


@dataclass(frozen=True)
class OutputAttribution:
    """One output x of a layer, and the mean gradient of the score on the way from 0 to x."""

    call: LayerCall
    index: int  # which of the outputs of the call
    x: Array
    gradient: Array

    @property
    def contributions(self) -> Array:
        return self.x * self.gradient


@dataclass(frozen=True)
class IntegratedGradients:
    """Attributions to the outputs of layers; their contributions and the residual sum to score - baseline."""

    left: Tokens  # the left text as it was passed to the model, one copy per step
    outputs: list[OutputAttribution]
    baseline: float
    residual: float
    difference: float  # score - baseline

    @property
    def is_complete(self) -> bool:
        """Whether the contributions explain nearly all of score - baseline."""
        return abs(self.residual) <= MAX_RESIDUAL * abs(self.difference) + 1e-6


def integrated_gradients(trace: Trace, layers: Collection[Layer]) -> IntegratedGradients | None:
    """Attribute the score to the outputs of these layers.

    None if the score does not depend on them smoothly, or if the model runs without PyTorch.
    """
    if not has_gradients(trace):
        return None
    found = None
    for steps in STEPS:
        found = _integrate(trace, layers, steps)
        if found is None or abs(found.residual) <= TARGET_RESIDUAL * abs(found.difference) + 1e-7:
            break
    return found


def has_gradients(trace: Trace) -> bool:
    """Whether the model runs in PyTorch."""
    return bool(array_namespace(trace.left.ids).NAME == "torch")


def word_vector_gradients(trace: Trace) -> IntegratedGradients | None:
    """Attribute the score to the word vectors; None if it does not depend on word vectors."""
    layers = embedding_layers(trace)
    return integrated_gradients(trace, layers) if layers else None


def contributions_of_vectors(trace: Trace, found: IntegratedGradients) -> Contributions:
    """The contributions of words from attributions to their vectors."""
    left, right = (np.zeros(tokens.ids.shape[1], np.float32) for tokens in (trace.left, trace.right))
    for output in found.outputs:
        side = left if tokens_of(output) is found.left else right
        side += to_numpy(output.contributions.sum(-1))
    return _contributions(left, right, found, "word vectors")


def contributions_of_cells(found: IntegratedGradients) -> Contributions:
    """The contributions of words from attributions to a grid: half of every cell to each of its two words."""
    cells = np.sum([to_numpy(output.contributions.sum(0)) for output in found.outputs], 0) / 2
    return _contributions(cells.sum(1), cells.sum(0), found, "interaction grid")


def tokens_of(output: OutputAttribution) -> Tokens:
    """The tokens that an output of an embedding layer was computed from."""
    return [arg for arg in output.call.args if isinstance(arg, Tokens)][output.index]


@functools.cache
def _gauss(steps: int) -> tuple[Any, Any]:
    """Points in [-1, 1] and their weights, for Gauss-Legendre quadrature."""
    return np.polynomial.legendre.leggauss(steps)


def _integrate(trace: Trace, layers: Collection[Layer], steps: int) -> IntegratedGradients | None:
    """The mean gradient on `steps` points of the way, a few copies of the pair at a time, so that memory is bounded."""
    points, weights = _gauss(steps)
    # The last two copies of the pair are the baseline and the pair itself.
    alpha, weight = np.array([*(points + 1) / 2, 0.0, 1.0]), np.array([*weights / 2, 0.0, 0.0])
    outputs: list[OutputAttribution] = []
    for at in range(0, len(alpha), COPIES):
        found = _scaled_gradients(trace, layers, alpha[at : at + COPIES], weight[at : at + COPIES])
        if found is None:
            return None
        left, parts, scores = found
        if outputs:
            parts = [replace(a, gradient=a.gradient + b.gradient) for a, b in zip(parts, outputs, strict=True)]
        outputs = parts
    baseline, score = scores[-2:]
    difference = score - baseline
    residual = difference - sum(float(output.contributions.sum()) for output in outputs)
    return IntegratedGradients(left, outputs, baseline, residual, difference)


def _scaled_gradients(
    trace: Trace, layers: Collection[Layer], scales: Floats, weights: Floats
) -> tuple[Tokens, list[OutputAttribution], list[float]] | None:
    """The weighted sum of the gradients with the layers' outputs multiplied by each scale; None if there are none.

    Also the copies of the left text that the outputs belong to, and the score at each scale.
    """
    import torch

    dtype = next((parameter.dtype for parameter in trace.model.parameters()), torch.float32)
    alpha, weight = (torch.tensor(each, dtype=dtype, device=trace.left.ids.device) for each in (scales, weights))
    leaves: list[tuple[LayerCall, int, Array, Array]] = []

    def scale(layer: Layer, args: tuple[Any, ...], output: Any) -> Any:
        def scaled(index: int, each: Any) -> Any:
            x = (each if is_array(each) else each.x).detach()
            leaf = (x * alpha.view(-1, *[1] * (x.dim() - 1))).requires_grad_()
            leaves.append((LayerCall(layer, args, output), index, x[-1], leaf))
            return leaf if is_array(each) else replace(each, x=leaf)

        edited = [scaled(index, each) for index, each in enumerate(output_list(output))]
        return type(output)(edited) if isinstance(output, (list, tuple)) else edited[0]

    with torch.enable_grad():
        replay = ReplayTrace(trace, layers, len(alpha), scale)
        scores = replay.scores()
        if not scores.requires_grad:
            return None
        gradients = torch.autograd.grad((scores * weight).sum(), [leaf for *_, leaf in leaves], allow_unused=True)
    if all(gradient is None for gradient in gradients):
        return None
    outputs = [
        OutputAttribution(call, index, x, torch.zeros_like(x) if gradient is None else gradient.sum(0))
        for (call, index, x, _), gradient in zip(leaves, gradients, strict=True)
    ]
    return replay.left, outputs, scores.tolist()


def with_evidence(found: Contributions, left: Sequence[float], right: Sequence[float]) -> Contributions:
    """The contributions with those of the evidence added, which the integrated gradients keep constant."""
    return replace(
        found,
        left=tuple(a + b for a, b in zip(found.left, left, strict=True)),
        right=tuple(a + b for a, b in zip(found.right, right, strict=True)),
        baseline=None if found.baseline is None else found.baseline - sum(left) - sum(right),
    )


def _contributions(left: Floats, right: Floats, found: IntegratedGradients, zeroed: ZeroedInput) -> Contributions:
    values = tuple(left.tolist()), tuple(right.tolist())
    return Contributions("integrated-gradients", *values, found.baseline, found.residual, zeroed)
