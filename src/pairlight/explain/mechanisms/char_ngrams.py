"""Character n-grams: what each of them contributes, and CDSSM's windows of words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.explain.attribution import tokens_of
from pairlight.explain.data import Fact, FactTable
from pairlight.explain.mechanisms.findings import Findings, TracedPair, top_facts
from pairlight.explain.trace import LayerCall
from pairlight.inference.scoring import to_numpy
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.char_ngrams import CharNgramEmbedding
from pairlight.layers.heads import CosineScore
from pairlight.layers.types import Array
from pairlight.layers.window_max import WindowMax

NGRAMS = "character n-grams"
Floats = NDArray[Any]
Gradient = tuple[CharNgramEmbedding, int, Floats]  # the embedding, side 0 or 1, gradient of the word vectors [L, D]


def explain_ngrams(pair: TracedPair, layer: CharNgramEmbedding, call: LayerCall, findings: Findings) -> None:
    """The parts of n-grams in the integrated gradients of their words: a word vector is the sum of n-gram vectors."""
    if any(pair.trace.calls_of(WindowMax)) or any(table.name == NGRAMS for table in findings.tables):
        return
    if pair.word_gradients is None or not pair.word_gradients.is_complete:
        return
    gradients: list[Gradient] = []
    for output in pair.word_gradients.outputs:
        if isinstance(output.call.layer, CharNgramEmbedding):
            side = 0 if tokens_of(output) is pair.word_gradients.left else 1
            gradients.append((output.call.layer, side, to_numpy(output.gradient)))
    description = "Contributions to the score by integrated gradients, summed over all words with the n-gram."
    findings.tables.append(FactTable(NGRAMS, description, _ngram_facts(pair, gradients)))


def explain_windows(pair: TracedPair, layer: WindowMax, call: LayerCall, findings: Findings) -> None:
    """An exact decomposition of CDSSM's score into the windows that pooling selects, and into their n-grams.

    s = y·y' / (|y| |y'|) with y = tanh(W v) and v = tanh(max h). The score is propagated back by ratios: the input x of
    a tanh gets the same part of the score as its output, so the gradient is tanh(x) / x. Each text gets half of the
    score.
    """
    chain = _pooled_texts(pair)
    if chain is None or call is not chain[1][0]:  # runs once, for the right text
        return
    embedding = next(layer for layer, _ in pair.trace.calls_of(CharNgramEmbedding))
    codes = [to_numpy(linear.output[0]) for _, linear in chain]
    y = [np.tanh(code) for code in codes]
    norms = max(2 * float(np.linalg.norm(y[0]) * np.linalg.norm(y[1])), 1e-12)
    facts: list[Fact] = []
    gradients: list[Gradient] = []
    for side, (text, (pooled, linear)) in enumerate(zip((pair.left, pair.right), chain, strict=True)):
        windows = to_numpy(layer.windows(pooled.args[0])[0])  # [L, hidden]
        best, at = windows.max(0), windows.argmax(0)  # [hidden]
        out = _tanh_ratio(codes[side]) * y[1 - side] / norms  # [code]
        hidden = out @ to_numpy(linear.layer.weight) * _tanh_ratio(best)  # type: ignore[attr-defined]
        gradient = np.eye(len(text.words), dtype=hidden.dtype)[:, at] * hidden  # [L, hidden]
        none = np.zeros_like(gradient[:1])
        previous, following = np.concatenate([none, gradient[:-1]]), np.concatenate([gradient[1:], none])
        gradients.append((embedding, side, np.concatenate([following, gradient, previous], -1)))
        units = np.bincount(at, minlength=len(text.words)).tolist()
        for t, contribution in enumerate((gradient * best).sum(1).tolist()):
            if units[t]:
                words = tuple(range(max(t - 1, 0), min(t + 2, len(text.words))))
                label = " ".join(text.words[word].text for word in words)
                left, right = (words, ()) if side == 0 else ((), words)
                facts.append(Fact(label, left, right, contribution, {"units": units[t]}))
    description = (
        "Windows of three words and the number of units they are selected for. Contributions sum to the score."
    )
    findings.tables.append(FactTable("windows", description, top_facts(facts)))
    description = "N-grams of the selected windows. Contributions sum to the score."
    findings.tables.append(FactTable(NGRAMS, description, _ngram_facts(pair, gradients)))


def _pooled_texts(pair: TracedPair) -> list[tuple[LayerCall, LayerCall]] | None:
    """The pooling and the linear layer of the left and the right text; None if the model is built differently."""
    pooled = [call for _, call in pair.trace.calls_of(WindowMax)]
    cosine = next((call for _, call in pair.trace.calls_of(CosineScore)), None)
    linear = [
        call for _, call in pair.trace.calls_of(Linear) if any(_is_tanh(call.args[0], each.output) for each in pooled)
    ]
    if cosine is None or len(pooled) != 2 or len(linear) != 2:
        return None
    if not all(_is_tanh(code, call.output) for call, code in zip(linear, cosine.args, strict=True)):
        return None
    return list(zip(pooled, linear, strict=True))


def _is_tanh(y: Array, x: Array) -> bool:
    return np.array_equal(to_numpy(y), to_numpy(array_namespace(x).tanh(x)))


def _tanh_ratio(x: Floats) -> Floats:
    """tanh(x) / x, which is 1 at 0."""
    nonzero = np.where(abs(x) > 1e-8, x, 1)
    return np.where(abs(x) > 1e-8, np.tanh(nonzero) / nonzero, 1)


def _ngram_facts(pair: TracedPair, gradients: list[Gradient]) -> tuple[Fact, ...]:
    """The contribution of each n-gram, summed over all words."""
    vocabulary = pair.tokenizer.vocabulary
    contributions: dict[int, float] = {}
    words: dict[int, tuple[set[int], set[int]]] = {}
    for embedding, side, gradient in gradients:
        tokens = (pair.trace.left, pair.trace.right)[side]
        if tokens.ngrams is None:
            continue
        ngrams = to_numpy(tokens.ngrams)[to_numpy(tokens.ids[0])]  # [L, P]
        values = (to_numpy(embedding.weight)[ngrams] @ gradient[..., None])[..., 0]  # [L, P]
        for t, (row, row_values) in enumerate(zip(ngrams.tolist(), values.tolist(), strict=True)):
            for ngram, value in zip(row, row_values, strict=True):
                if ngram:
                    contributions[ngram] = contributions.get(ngram, 0.0) + value
                    words.setdefault(ngram, (set(), set()))[side].add(t)
    return top_facts(
        [
            Fact(vocabulary[ngram], tuple(sorted(words[ngram][0])), tuple(sorted(words[ngram][1])), value)
            for ngram, value in contributions.items()
        ]
    )
